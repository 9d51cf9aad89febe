//! The storage suite on the memory storage, which is its own model.

use std::sync::Arc;

use contexture_core::MemoryStorage;
use contexture_testkit::conformance;

// B-01, B-02, B-12, C11, C16: the memory storage passes the suite every storage must pass.
#[test]
fn the_memory_storage_conforms() {
    conformance::run(|| Arc::new(MemoryStorage::new()));
}
