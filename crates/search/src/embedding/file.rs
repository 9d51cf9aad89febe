//! Vectors on disk: a header, and then records that are only ever added.
//!
//! ```text
//!  header   magic · dimensions · generation · checksum
//!  record   hash of the text · scale · numbers · checksum        all of the same size
//! ```
//!
//! Whoever writes holds a lock. A record that was torn by a crash is noticed by its checksum or by the length of the file,
//! and its vector is made again. The generation changes whenever vectors are removed: what was made of texts that were
//! read before that is not added after it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use super::{table::Table, vector::Vector};

const MAGIC: &[u8; 8] = b"CtxVec\x00\x01";
const HEADER: usize = 32;

/// How many bytes are read at a time.
const CHUNK: usize = 4 << 20;

/// A file of vectors of one model.
#[derive(Debug)]
pub(super) struct VectorFile {
    folder: PathBuf,
    path: PathBuf,
}

/// What a file says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// 0 while there is no vector.
    pub(super) dimensions: usize,
    pub(super) generation: u64,
}

impl VectorFile {
    pub(super) fn new(folder: &Path, name: &str) -> Self {
        Self { folder: folder.to_owned(), path: folder.join(name) }
    }

    /// Returns the header, and the records behind an offset with the offset behind them. None where there is no file.
    pub(super) fn read(
        &self,
        known: Option<Header>,
        offset: u64,
        table: &mut Table,
    ) -> io::Result<Option<(Header, u64)>> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let Some(header) = read_header(&mut file)? else { return Ok(None) };
        let goes_on = known.is_some_and(|known| known.generation == header.generation);
        if !goes_on {
            *table = Table::default();
        }
        let offset = if goes_on { offset } else { HEADER as u64 };
        if header.dimensions == 0 {
            return Ok(Some((header, offset)));
        }
        let read = read_records(&mut file, header.dimensions, offset, table)?;
        Ok(Some((header, offset + read)))
    }

    /// Makes the file unless it is there; returns its generation.
    pub(super) fn begin(&self) -> io::Result<u64> {
        let _lock = self.lock()?;
        let mut file = self.open()?;
        match read_header(&mut file)? {
            Some(header) => Ok(header.generation),
            None => {
                let header = Header { dimensions: 0, generation: next_generation(0) };
                file.set_len(0)?;
                write_header(&mut file, header)?;
                Ok(header.generation)
            }
        }
    }

    /// Adds vectors, unless others were removed since that generation or the dimensions do not fit; returns the
    /// dimensions of those that are there.
    pub(super) fn add(&self, generation: u64, vectors: &[(u64, Vector)]) -> io::Result<usize> {
        let Some(dimensions) = vectors.first().map(|(_, vector)| vector.dimensions()) else {
            return Ok(0);
        };
        let _lock = self.lock()?;
        let mut file = self.open()?;
        let header = read_header(&mut file)?.filter(|header| header.generation == generation);
        let Some(mut header) = header else { return Ok(dimensions) };
        if header.dimensions == 0 {
            header.dimensions = dimensions;
            write_header(&mut file, header)?;
        }
        if header.dimensions != dimensions {
            return Ok(header.dimensions);
        }
        // What a crash left behind the last whole record is written over.
        let size = record_size(dimensions) as u64;
        let records = file.metadata()?.len().saturating_sub(HEADER as u64) / size;
        let end = HEADER as u64 + records * size;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        file.write_all(&records_of(vectors))?;
        Ok(dimensions)
    }

    /// Keeps only vectors of some texts, in a file of a new generation.
    pub(super) fn keep(&self, is_kept: &dyn Fn(u64) -> bool) -> io::Result<()> {
        let _lock = self.lock()?;
        let mut table = Table::default();
        let Some((header, _)) = self.read(None, 0, &mut table)? else {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        };
        let header = Header { generation: next_generation(header.generation), ..header };
        let path = self.path.with_extension("new");
        let mut file = BufWriter::new(
            private(OpenOptions::new().write(true).create(true).truncate(true)).open(&path)?,
        );
        write_header(&mut file, header)?;
        for (hash, vector) in table.vectors().filter(|(hash, _)| is_kept(*hash)) {
            file.write_all(&records_of(&[(hash, vector)]))?;
        }
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        // What was removed must not come back after a power cut.
        file.sync_all()?;
        fs::rename(&path, &self.path)?;
        File::open(&self.folder)?.sync_all()
    }

    fn open(&self) -> io::Result<File> {
        private(OpenOptions::new().read(true).write(true).create(true).truncate(false))
            .open(&self.path)
    }

    /// Takes the lock of the folder, which ends with the file that is returned.
    fn lock(&self) -> io::Result<File> {
        let path = self.folder.join("lock");
        let file =
            private(OpenOptions::new().write(true).create(true).truncate(false)).open(path)?;
        file.lock()?;
        Ok(file)
    }
}

/// Returns the names of the files of vectors in a folder.
pub(super) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().into_string();
        names.extend(name.ok().filter(|name| name.ends_with(".vectors")));
    }
    Ok(names)
}

fn read_header(file: &mut File) -> io::Result<Option<Header>> {
    let mut bytes = [0; HEADER];
    file.seek(SeekFrom::Start(0))?;
    match file.read_exact(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let (said, checksum) = bytes.split_at(HEADER - 4);
    if !said.starts_with(MAGIC) || checksum != crc32fast::hash(said).to_le_bytes() {
        return Ok(None);
    }
    let dimensions = u32::from_le_bytes([said[8], said[9], said[10], said[11]]) as usize;
    let mut generation = [0; 8];
    generation.copy_from_slice(&said[12..20]);
    Ok(Some(Header { dimensions, generation: u64::from_le_bytes(generation) }))
}

fn write_header(file: &mut (impl Write + Seek), header: Header) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(HEADER);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(header.dimensions as u32).to_le_bytes());
    bytes.extend_from_slice(&header.generation.to_le_bytes());
    bytes.resize(HEADER - 4, 0);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&bytes)
}

fn record_size(dimensions: usize) -> usize {
    8 + 4 + dimensions + 4
}

fn records_of(vectors: &[(u64, Vector)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (hash, vector) in vectors {
        let start = bytes.len();
        bytes.extend_from_slice(&hash.to_le_bytes());
        bytes.extend_from_slice(&vector.scale.to_le_bytes());
        bytes.extend(vector.numbers.iter().map(|number| *number as u8));
        let checksum = crc32fast::hash(&bytes[start..]);
        bytes.extend_from_slice(&checksum.to_le_bytes());
    }
    bytes
}

/// Reads whole records into a table; returns how many bytes they take.
fn read_records(
    file: &mut File,
    dimensions: usize,
    offset: u64,
    table: &mut Table,
) -> io::Result<u64> {
    file.seek(SeekFrom::Start(offset))?;
    let size = record_size(dimensions);
    let mut bytes = vec![0; (CHUNK / size).max(1) * size];
    let (mut filled, mut done) = (0, 0);
    loop {
        let read = file.read(&mut bytes[filled..])?;
        filled += read;
        if read > 0 && filled < bytes.len() {
            continue;
        }
        for record in bytes[..filled].chunks_exact(size) {
            if let Some((hash, vector)) = record_in(record) {
                table.insert(hash, &vector);
            }
            done += size as u64;
        }
        if read == 0 {
            return Ok(done);
        }
        filled = 0;
    }
}

/// Reads a record; none where it is damaged.
fn record_in(record: &[u8]) -> Option<(u64, Vector)> {
    let (said, checksum) = record.split_at_checked(record.len().checked_sub(4)?)?;
    if checksum != crc32fast::hash(said).to_le_bytes() {
        return None;
    }
    let (hash, said) = said.split_first_chunk::<8>()?;
    let (scale, numbers) = said.split_first_chunk::<4>()?;
    let numbers = numbers.iter().map(|number| *number as i8).collect();
    Some((u64::from_le_bytes(*hash), Vector { scale: f32::from_le_bytes(*scale), numbers }))
}

/// Returns a generation that no process has seen.
fn next_generation(before: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    now.max(before.wrapping_add(1))
}

/// Makes files that others cannot read: a vector tells what its text says.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}
