//! stub
use contexture_core::storage::StorageResult;
