//! Sending a request that the loader has created.

use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Wake, Waker},
};

use gloo_net::http;
use wasm_bindgen::prelude::*;
use web_sys::{Request, Response};

#[wasm_bindgen]
extern "C" {
    /// The loader's side of a running request.
    pub type Pending;

    /// Passes the response on; none when the server could not be reached.
    #[wasm_bindgen(method)]
    fn resolve(this: &Pending, response: Option<Response>);
}

thread_local! {
    /// Running requests: one, and those that the loader no longer waits for.
    static SENDING: RefCell<Vec<Pin<Box<dyn Future<Output = ()>>>>> = const { RefCell::new(Vec::new()) };
}

#[wasm_bindgen]
pub fn send(request: Request, pending: Pending) {
    let sending = async move {
        let response = http::Request::from(request).send().await;
        pending.resolve(response.ok().map(Response::from));
    };
    SENDING.with_borrow_mut(|all| all.push(Box::pin(sending)));
    resume();
}

/// Continues the running requests. The general executor for the browser would be 1.7 KB of the download.
fn resume() {
    let waker = Waker::from(Arc::new(Resume));
    let mut context = Context::from_waker(&waker);
    let mut sending = SENDING.take();
    sending.retain_mut(|request| request.as_mut().poll(&mut context).is_pending());
    SENDING.with_borrow_mut(|all| all.append(&mut sending));
}

struct Resume;

impl Wake for Resume {
    fn wake(self: Arc<Self>) {
        resume();
    }
}
