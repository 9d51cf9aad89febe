//! The seed's five storage methods, on top of the one commit.
/// The seed's five storage methods.
#[derive(Debug)]
pub struct PageStore;
