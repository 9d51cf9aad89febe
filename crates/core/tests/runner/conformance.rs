//! The storage suite on the memory storage, which is its own model.

use contexture_testkit::{backend::MemoryBackend, conformance};

// B-01, B-02, B-12: the memory storage passes the suite every storage must pass.
#[test]
fn the_memory_storage_conforms() {
    let summary = conformance::run(&MemoryBackend);
    assert_eq!(summary.failed, [""; 0], "{summary}");
}
