//! Backups: a snapshot of the store, whole or not there at all, that restores into another folder.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::resources::REGISTRY;
use svctrack_server::auth::Token;
use svctrack_tests::{
    client::Client,
    model::Random,
    process::{PATIENCE, Server, command},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket},
};

use crate::{
    startup::{FILE, first_start, rejection},
    verify::{fill, verify},
};

/// Senders of events at once.
const SENDERS: usize = 8;
/// Acknowledged events before a backup is requested.
const EVENTS_BEFORE: usize = 200;
/// Bytes of a backup that are turned over.
const FLIPPED_BYTES: usize = 8;
/// Records of a bulk call, which are all there or none.
const TOGETHER: usize = 40;

/// Runs the program; its exit code, and its output.
pub(crate) async fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = command(folder).args(arguments).output().await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A server with an operator's token.
async fn start(folder: &Path, flags: &[&str]) -> (Server, Token, Token) {
    let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
    (Server::start_with_operator(folder, &token, &operator, flags).await, token, operator)
}

/// Creates a backup of a stopped store.
async fn back_up(data: &Path, to: &Path) -> Value {
    let arguments = ["backup", "--json", "--data", text(data), "--to", text(to)];
    let (code, said) = run(to.parent().unwrap(), &arguments).await;
    assert_eq!(code, Some(0), "{said}");
    serde_json::from_str(&said).unwrap()
}

pub(crate) async fn restore(from: &Path, data: &Path) -> (Option<i32>, String) {
    run(from.parent().unwrap(), &["restore", "--from", text(from), "--data", text(data)]).await
}

/// What has been sent, and what acknowledged.
#[derive(Default)]
struct Count {
    sent: AtomicUsize,
    acknowledged: AtomicUsize,
}

impl Count {
    fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }

    fn acknowledged(&self) -> usize {
        self.acknowledged.load(Ordering::SeqCst)
    }
}

/// Sends one thing after the other until it is to stop.
async fn send_on(client: Client, sender: usize, count: Arc<Count>, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::SeqCst) {
        let number = count.sent.fetch_add(1, Ordering::SeqCst);
        match sender {
            SENDERS => put_together(&client, number).await,
            _ => track(&client, sender, number).await,
        }
        count.acknowledged.store(number + 1, Ordering::SeqCst);
    }
}

async fn put_together(client: &Client, number: usize) {
    let items: Vec<_> = (0..TOGETHER)
        .map(|at| json!({"externalId": format!("t{at}"), "name": format!("mark {number}")}))
        .collect();
    let headers = [("content-type", "application/json")];
    let response = client.send(Method::PUT, "/companies", &headers, json!(items).to_string()).await;
    assert_eq!(response.unwrap().status, StatusCode::OK);
}

async fn track(client: &Client, sender: usize, number: usize) {
    let event = json!({"externalId": format!("user {sender}"), "companyExternalId": "acme", "action": format!("{sender}:{number}")});
    assert_eq!(client.track(&event).await.unwrap().text(), "OK");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_is_one_moment_and_restores_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (server, token, operator) = start(&data_folder(&data), &[]).await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let stop = Arc::new(AtomicBool::new(false));
    let counts: Vec<Arc<Count>> = (0..=SENDERS).map(|_| Arc::default()).collect();
    let mut senders = Vec::new();
    for (sender, count) in counts.iter().cloned().enumerate() {
        let (client, stop) = (server.client.clone(), stop.clone());
        senders.push(tokio::spawn(send_on(client, sender, count, stop)));
    }
    while counts.iter().map(|count| count.acknowledged()).sum::<usize>() < EVENTS_BEFORE {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let before: Vec<usize> = counts.iter().map(|count| count.acknowledged()).collect();
    let to = folder.path().join("moment.backup.gz");
    let arguments = ["backup", "--server", &server.base, "--token", operator.reveal()];
    let (code, said) = run(folder.path(), &[&arguments[..], &["--to", text(&to)]].concat()).await;
    assert_eq!(code, Some(0), "{said}");
    let after: Vec<usize> = counts.iter().map(|count| count.sent()).collect();
    stop.store(true, Ordering::SeqCst);
    for sender in senders {
        sender.await.unwrap();
    }
    server.kill().await;

    let elsewhere = folder.path().join("elsewhere");
    let (code, said) = restore(&to, &elsewhere).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(verify(&elsewhere).await.0, Some(0));
    let server = Server::start(&elsewhere, &token).await;
    let actions = server.client.actions().await;
    for sender in 0..SENDERS {
        let mark = format!("{sender}:");
        let mut found: Vec<usize> =
            actions.iter().filter_map(|action| action.strip_prefix(&mark)?.parse().ok()).collect();
        found.sort_unstable();
        assert_eq!(found, (0..found.len()).collect::<Vec<_>>(), "{sender} has gaps");
        let range = before[sender]..=after[sender];
        assert!(range.contains(&found.len()), "{sender}: {} is not in {range:?}", found.len());
    }
    let marks = server.client.get("/companies?limit=1000&select=name,externalId").await.json();
    let marks: Vec<&Value> = marks
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["externalId"] != "acme")
        .map(|item| &item["name"])
        .collect();
    assert!(marks.len() == TOGETHER && marks.iter().all(|mark| *mark == marks[0]), "{marks:?}");
    server.kill().await;
}

pub(crate) fn data_folder(path: &Path) -> PathBuf {
    fs::create_dir(path).unwrap();
    path.to_owned()
}

/// The responses of a server to a reader of all of it.
async fn responses(client: &Client, operator: &Client) -> Vec<(String, Value)> {
    let paths = REGISTRY.iter().map(|def| format!("/{}?limit=1000", def.path));
    let others = ["/activities?limit=2000", "/integrationissues", "/settings", "/tokens"];
    let mut found = Vec::new();
    for path in paths.chain(others.map(str::to_owned)) {
        let response = client.get(&path).await;
        assert_eq!(response.status, StatusCode::OK, "{path}: {}", response.text());
        found.push((path, response.json()));
    }
    found.push(("/tenants".to_owned(), operator.get("/tenants").await.json()));
    for (_, response) in &mut found {
        for item in response.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            // It changes during these reads.
            item.remove("lastUsedAt");
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_store_responds_as_the_one_that_was_backed_up() {
    let folder = tempfile::tempdir().unwrap();
    let data = data_folder(&folder.path().join("data"));
    let (server, token, operator) = start(&data, &[]).await;
    fill(&server.client).await;
    let another = server.client.with_token(operator.reveal());
    another.post("/tenants", &json!({"name": "another"})).await;
    let before = responses(&server.client, &another).await;
    server.kill().await;
    let to = folder.path().join("moment.backup.gz");
    let told = back_up(&data, &to).await;
    assert!(told["rows"].as_u64().unwrap() > 1_000, "{told}");
    assert_eq!(told["bytes"], fs::metadata(&to).unwrap().len());

    let elsewhere = folder.path().join("elsewhere");
    assert_eq!(restore(&to, &elsewhere).await.0, Some(0));
    let server = Server::start(&elsewhere, &token).await;
    let operator = server.client.with_token(operator.reveal());
    for (before, after) in before.iter().zip(responses(&server.client, &operator).await) {
        assert_eq!(*before, after);
    }
    // What was erased stays out, and an event that had come comes no second time.
    let erased = json!({"externalId": "u2", "companyId": "extid-c9"});
    assert_eq!(server.client.post("/endusers", &erased).await.status, 422);
    let again = json!({"externalId": "u0", "action": "x", "messageId": "m0"});
    let before = server.client.actions().await.len();
    server.client.track(&again).await.unwrap();
    assert_eq!(server.client.actions().await.len(), before);
    server.kill().await;
}

/// A store with a little in it, and its backup.
async fn backed_up() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let data = data_folder(&folder.path().join("data"));
    let server = Server::start_with_acme(&data, &Token::generate().unwrap()).await;
    server.kill().await;
    let to = folder.path().join("moment.backup.gz");
    back_up(&data, &to).await;
    (folder, to)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_is_not_whole_is_rejected_and_nothing_is_put_in_place() {
    let (folder, backup) = backed_up().await;
    let whole = fs::read(&backup).unwrap();
    // One bit may do nothing: what repeats itself can be packed in more ways than one.
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at..].iter_mut().take(FLIPPED_BYTES).for_each(|byte| *byte = !*byte);
        bytes
    };
    let cases = [
        ("cut off at its end", whole[..whole.len() - 1].to_vec(), "it is truncated"),
        ("cut in half", whole[..whole.len() / 2].to_vec(), "it is truncated"),
        ("empty", Vec::new(), "it is truncated"),
        // It may be unpacked beyond its end then.
        ("flipped in its middle", flipped(whole.len() / 2), "corrupted"),
        ("flipped in its checksum", flipped(whole.len() - 8), "it is corrupted"),
        ("followed by something", [whole.as_slice(), b"\n"].concat(), "it is corrupted"),
        (
            "a store",
            fs::read(folder.path().join("data").join(FILE)).unwrap(),
            "not a svctrack backup",
        ),
    ];
    for (name, bytes, expect) in cases {
        let (from, to) = (folder.path().join("other"), folder.path().join("to"));
        fs::write(&from, bytes).unwrap();
        let (code, said) = restore(&from, &to).await;
        assert_eq!(code, Some(1), "{name}: {said}");
        assert!(said.contains(expect) && said.trim_end().lines().count() == 1, "{name}: {said}");
        assert!(!to.exists(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_restored_into_an_empty_folder_only() {
    let (folder, backup) = backed_up().await;
    let to = data_folder(&folder.path().join("to"));
    for name in [FILE, "notes.txt"] {
        fs::write(to.join(name), "mine").unwrap();
        let (code, said) = restore(&backup, &to).await;
        assert!(code == Some(1) && said.contains("is not empty"), "{said}");
        assert_eq!(fs::read(to.join(name)).unwrap(), b"mine");
        assert_eq!(fs::read_dir(&to).unwrap().count(), 1);
        fs::remove_file(to.join(name)).unwrap();
    }
    // What is left of a restoration that was broken off does not prevent another one, nor what a new volume has.
    fs::write(to.join("svctrack.restore"), "half a store").unwrap();
    fs::create_dir(to.join("lost+found")).unwrap();
    assert_eq!(restore(&backup, &to).await.0, Some(0));
    assert_eq!(fs::read_dir(&to).unwrap().count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_replaces_no_file() {
    let (folder, backup) = backed_up().await;
    let before = fs::read(&backup).unwrap();
    let data = folder.path().join("data");
    let arguments = ["backup", "--data", text(&data), "--to", text(&backup)];
    assert_eq!(run(folder.path(), &arguments).await.0, Some(1));
    assert!(fs::read(&backup).unwrap() == before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    // A name alone is a file of the working folder.
    let (code, said) = run(folder.path(), &["backup", "--data", "data", "--to", "again"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// Sends the first half of a backup to whoever asks, and then nothing.
async fn send_half(backup: Vec<u8>, closes: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).await.unwrap();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", backup.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&backup[..backup.len() / 2]).await.unwrap();
        if !closes {
            std::future::pending::<()>().await;
        }
    });
    base
}

pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_backup_never_looks_whole() {
    let (folder, backup) = backed_up().await;
    let whole = fs::read(&backup).unwrap();
    let to = data_folder(&folder.path().join("to"));
    let token = Token::generate().unwrap();
    let arguments = |base: &str| {
        let arguments = ["backup", "--server", base, "--token", token.reveal(), "--to", text(&to)];
        arguments.map(str::to_owned)
    };
    let base = send_half(whole.clone(), true).await;
    let output = command(folder.path()).args(arguments(&base)).output().await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(names_in(&to), Vec::<String>::new());

    let base = send_half(whole, false).await;
    let mut child =
        command(folder.path()).args(arguments(&base)).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while !fs::read_dir(&to).unwrap().any(|entry| entry.unwrap().metadata().unwrap().len() > 0) {
        assert!(started.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    child.kill().await.unwrap();
    assert!(names_in(&to).iter().all(|name| name.ends_with(".unfinished")), "{:?}", names_in(&to));
}

pub(crate) fn backups_in(folder: &Path) -> Vec<String> {
    let Ok(names) = fs::read_dir(folder) else { return Vec::new() };
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".backup.gz")).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_while_it_makes_a_backup_leaves_none_that_looks_whole() {
    let folder = tempfile::tempdir().unwrap();
    let data = data_folder(&folder.path().join("data"));
    let backups = data.join("backups");
    let token = Token::generate().unwrap();
    for _ in 0..3 {
        let server = Server::start_with(&data, &token, &["--backup-every", "1s"]).await;
        let started = Instant::now();
        let is_begun = || {
            backups.exists() && names_in(&backups).iter().any(|name| name.ends_with(".unfinished"))
        };
        while !is_begun() {
            assert!(started.elapsed() < PATIENCE, "no backup is begun");
        }
        server.kill().await;
        for name in backups_in(&backups) {
            let to = tempfile::tempdir().unwrap();
            let (code, said) = restore(&backups.join(&name), to.path()).await;
            assert_eq!(code, Some(0), "{name}: {said}");
        }
    }
}

#[tokio::test]
async fn a_directory_that_takes_no_backups_is_named_at_the_start_and_no_store_is_created() {
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("file"), folder.path().join("data"));
    fs::write(&file, "").unwrap();
    fs::create_dir(&data).unwrap();
    for to in [file.clone(), file.join("below"), "/proc/backups".into()] {
        let said = rejection(&data, &["--backup-every", "1day", "--backup-to", text(&to)]).await;
        let expect = format!("backups cannot be written to `{}`: ", to.display());
        assert!(said.contains(&expect) && said.contains("--backup-to"), "{said}");
    }
    assert_eq!(names_in(&data), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_of_data_and_of_backups_are_for_the_user_of_the_server_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("svctrack-data");
    let (_, _, mut server) =
        first_start(folder.path(), &["--listen", "127.0.0.1:0", "--backup-every", "1day"]).await;
    let backups = data.join("backups");
    let started = Instant::now();
    while backups_in(&backups).is_empty() {
        assert!(started.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.kill().await.unwrap();
    let restored = folder.path().join("restored");
    let from = backups.join(&backups_in(&backups)[0]);
    assert_eq!(restore(&from, &restored).await.0, Some(0));
    for path in [&data, &backups, &restored] {
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o700, "{}", path.display());
    }
}

/// Records that do not fit between the sockets of a slow caller.
const NOISES: usize = 160;

/// Text that cannot be packed into much less, also when it comes again: it is longer than what gzip looks back.
fn noise() -> String {
    let mut random = Random::seeded(1);
    let noise: Vec<u8> = (0..40_000).map(|_| random.below(256) as u8).collect();
    STANDARD.encode(noise)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_caller_of_a_backup_holds_no_moment_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _, operator) = start(folder.path(), &[]).await;
    let noise = noise();
    let put = async |round: usize| {
        for number in 0..NOISES {
            let custom = json!({"noise": format!("{round} {noise}")});
            let item =
                json!([{"name": "Noise", "externalId": number.to_string(), "custom": custom}]);
            let headers = [("content-type", "application/json")];
            let put = server.client.send(Method::PUT, "/companies", &headers, item.to_string());
            assert_eq!(put.await.unwrap().status, StatusCode::OK);
        }
    };
    put(0).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(server.client.address().parse().unwrap()).await.unwrap();
    let request = format!(
        "GET /backup HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\r\n",
        operator.reveal()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 15];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    // A snapshot that is held retains every page of it, so that changes need new ones.
    let bytes = || fs::metadata(folder.path().join(FILE)).unwrap().len();
    let before = bytes();
    for round in 1..=4 {
        put(round).await;
    }
    assert!(bytes() <= before * 2, "{before} bytes became {}", bytes());
    // It is sent whole all the same.
    let mut rest = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert!(rest.len() > NOISES * 40_000, "{} bytes", rest.len());
    server.kill().await;
}
