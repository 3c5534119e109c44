//! All suites in one program, so that it is linked once.

mod access;
mod backup;
mod browser;
mod cases;
mod corpora;
mod coverage;
mod crash;
mod delivery;
mod erasure;
mod every_route;
mod examples;
mod faults;
mod formats;
mod goldens;
mod input;
mod integrity;
mod model;
mod npm;
mod once;
mod proxy;
mod readme;
mod startup;
mod stream;
mod tracking;
mod transfer;
mod verify;
