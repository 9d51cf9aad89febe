//! The tests of the server, in one program: a real server on loopback, in this process.

mod access;
mod client;
mod conversation;
mod pages;
mod windows;
