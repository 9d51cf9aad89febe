//! Encryption, with what libpq's modes promise and no more.

use std::{path::Path, sync::Arc};

use contexture_core::storage::{StorageError, StorageResult};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Address, Trust};

/// Makes what encrypts connections to an address.
pub(crate) fn connector(address: &Address) -> StorageResult<MakeRustlsConnect> {
    // Given explicitly, because a program may hold crates that want another one.
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| fault(address, &error))?;
    let config = match address.trust {
        Trust::Name => builder.with_root_certificates(roots(address)?).with_no_client_auth(),
        Trust::Authority => {
            let inner = WebPkiServerVerifier::builder_with_provider(
                Arc::new(roots(address)?),
                provider.clone(),
            );
            let inner = Some(inner.build().map_err(|error| fault(address, &error))?);
            let verifier = Arc::new(Lenient { inner, provider });
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
        Trust::Anyone => {
            let verifier = Arc::new(Lenient { inner: None, provider });
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

fn roots(address: &Address) -> StorageResult<RootCertStore> {
    let mut store = RootCertStore::empty();
    let Some(path) = &address.roots else {
        store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(store);
    };
    let unreadable = |path: &Path, error: &dyn std::fmt::Display| {
        fault(address, &format!("certificates cannot be read from {}: {error}", path.display()))
    };
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| unreadable(path, &error))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| unreadable(path, &error))?;
        store.add(certificate).map_err(|error| unreadable(path, &error))?;
    }
    if store.is_empty() {
        return Err(unreadable(path, &"the file holds none"));
    }
    Ok(store)
}

fn fault(address: &Address, reason: &dyn std::fmt::Display) -> StorageError {
    StorageError::Unavailable { what: address.name.clone(), reason: reason.to_string() }
}

/// Asks less of a certificate than its name: only its authority, or nothing at all.
#[derive(Debug)]
struct Lenient {
    /// Who checks the authority.
    inner: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        match inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is checked last, so all else was in order.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
