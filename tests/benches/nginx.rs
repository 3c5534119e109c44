//! nginx, as a baseline: the same bytes, with nothing to decide.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::{Command as Stop, Stdio},
};

use svctrack_tests::{client::Client, process::PATIENCE};
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};

/// A running nginx; it ends when dropped.
pub(crate) struct Nginx {
    child: Child,
    pub(crate) base: String,
}

impl Nginx {
    /// Returns `body` for `/return`, and `file` from the disk for `/file`.
    pub(crate) async fn start(folder: &Path, body: &str, file: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        fs::write(folder.join("file"), file).unwrap();
        let config = folder.join("nginx.conf");
        fs::write(&config, configuration(folder, port, body)).unwrap();
        let child = Command::new("nginx")
            .arg("-p")
            .arg(folder)
            .arg("-c")
            .arg(&config)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let nginx = Self { child, base: format!("http://127.0.0.1:{port}") };
        nginx.check("/return", body).await;
        nginx.check("/file", file).await;
        nginx
    }

    /// Waits until a path responds, and checks its response.
    async fn check(&self, path: &str, expect: &str) {
        let client = Client::new(&self.base, None);
        let deadline = Instant::now() + PATIENCE;
        loop {
            match client.send(hyper::Method::GET, path, &[], "").await {
                Ok(response) => return assert_eq!(response.text(), expect),
                Err(error) => assert!(Instant::now() < deadline, "nginx does not answer: {error}"),
            }
            sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

/// Its workers end with their master, when that is asked to.
impl Drop for Nginx {
    fn drop(&mut self) {
        let id = self.child.id().unwrap().to_string();
        assert!(Stop::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    }
}

fn configuration(folder: &Path, port: u16, body: &str) -> String {
    let folder = folder.display();
    // As root, its workers would be another user's and could not read the folder.
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let user = if is_root { "user root;" } else { "" };
    let body = body.replace('\'', "\\'");
    format!(
        "daemon off; worker_processes auto; {user} pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  default_type application/json;
  server {{
    listen 127.0.0.1:{port};
    location = /return {{ return 200 '{body}'; }}
    location = /file {{ alias {folder}/file; }}
  }}
}}
"
    )
}
