//! All suites in one program, so that it is linked once.

mod access;
mod browser;
mod cases;
mod crash;
mod examples;
mod faults;
mod input;
mod once;
mod readme;
mod startup;
mod stream;
mod tracking;
