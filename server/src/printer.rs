//! Prints messages to the person who started the server, in a separate thread, so that a standard output that is not
//! read blocks neither the start nor the stop.

use std::{
    io::{self, Write as _},
    sync::mpsc::{self, Receiver, Sender},
    thread,
};

use tokio::{sync::oneshot, time::timeout};

use crate::limits::PRINT_TIMEOUT;

/// A text, and the channel of the outcome.
type PrintJob = (String, oneshot::Sender<io::Result<()>>);

/// Channel of texts to the thread that prints them, in their order.
pub(crate) struct Printer(Sender<PrintJob>);

impl Printer {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the process may have no more threads.
    pub(crate) fn start() -> io::Result<Self> {
        let (sender, texts) = mpsc::channel();
        thread::Builder::new().name("print".to_owned()).spawn(move || print_all(&texts))?;
        Ok(Self(sender))
    }

    /// Prints a text, also where the future is not awaited, which returns whether it was printed.
    pub(crate) fn print(&self, text: String) -> impl Future<Output = io::Result<()>> + use<> {
        let (done, printed) = oneshot::channel();
        let sent = self.0.send((text, done));
        async move {
            sent.map_err(|_| io::ErrorKind::BrokenPipe)?;
            let printed = timeout(PRINT_TIMEOUT, printed).await;
            let printed = printed.map_err(|_| io::Error::other("its reader does not read"))?;
            printed.map_err(|_| io::ErrorKind::BrokenPipe)?
        }
    }

    /// Prints a text for a person who may not read any more.
    pub(crate) fn try_to_print(&self, text: String) {
        let printed = self.print(text);
        tokio::spawn(async move {
            if let Err(cause) = printed.await {
                tracing::warn!(%cause, "standard output cannot be written");
            }
        });
    }
}

fn print_all(texts: &Receiver<PrintJob>) {
    for (text, done) in texts {
        // The caller may no longer wait.
        drop(done.send(print(&text)));
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}
