//! redb alone, as the store uses it: what the rows of events would take if nothing had to be planned, and no
//! block had a sum. It is what the store could at most do.

use std::{path::Path, time::Instant};

use redb::{Database, Durability, TableDefinition, WriteTransaction};

use crate::data::{COMPANIES, USERS, scattered};

type Rows = TableDefinition<'static, &'static [u8], &'static [u8]>;

const LOG: Rows = TableDefinition::new("log");
const MESSAGES: Rows = TableDefinition::new("messages");
const OWNERS: Rows = TableDefinition::new("owners");

/// The store's own cache, in bytes.
const CACHE_BYTES: usize = 256 * 1024 * 1024;
/// Bytes of a tenant at the front of each key, and of an id at the end.
const TENANT: [u8; 16] = [7; 16];
/// Bytes of the row of a user or a company.
const OWNER_BYTES: usize = 60;

/// A database with rows like those of events, and how many there are.
pub(crate) struct Raw {
    database: Database,
    written: usize,
}

impl Raw {
    /// A new one in a folder.
    pub(crate) fn create(folder: &Path) -> Self {
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE_BYTES);
        let database = builder.create(folder.join("raw.redb")).unwrap();
        let mut raw = Self { database, written: 0 };
        let transaction = raw.begin();
        {
            let mut owners = transaction.open_table(OWNERS).unwrap();
            for owner in 0..USERS + COMPANIES {
                owners.insert(owner_key(owner).as_slice(), [1; OWNER_BYTES].as_slice()).unwrap();
            }
        }
        transaction.commit().unwrap();
        raw.round(1, 1, 1);
        raw
    }

    /// A transaction that is as durable, and as soon to open after a crash, as the store's.
    fn begin(&self) -> WriteTransaction {
        let mut transaction = self.database.begin_write().unwrap();
        transaction.set_durability(Durability::Immediate).unwrap();
        transaction.set_quick_repair(true);
        transaction
    }

    /// Events a second, `per_commit` in each commit. Of each there are a row of the log, of a fixed length, and its
    /// message id; of each user and company of a commit there is a row, written once.
    pub(crate) fn round(&mut self, events: usize, per_commit: usize, log_bytes: usize) -> f64 {
        let started = Instant::now();
        for _ in 0..events / per_commit {
            let transaction = self.begin();
            self.commit_of(&transaction, per_commit, log_bytes);
            transaction.commit().unwrap();
        }
        events as f64 / started.elapsed().as_secs_f64()
    }

    fn commit_of(&mut self, transaction: &WriteTransaction, events: usize, log_bytes: usize) {
        let mut log = transaction.open_table(LOG).unwrap();
        let mut messages = transaction.open_table(MESSAGES).unwrap();
        let mut touched = Vec::with_capacity(2 * events);
        let row = vec![b'x'; log_bytes];
        for _ in 0..events {
            let (number, user) = (self.written as u128, scattered(self.written, USERS));
            touched.extend([user, USERS + user % COMPANIES]);
            let key = [TENANT.as_slice(), &number.to_be_bytes()[4..]].concat();
            log.insert(key.as_slice(), row.as_slice()).unwrap();
            let key = [TENANT.as_slice(), &[0; 3], &number.to_be_bytes()].concat();
            messages.insert(key.as_slice(), [1; 13].as_slice()).unwrap();
            self.written += 1;
        }
        touched.sort_unstable();
        touched.dedup();
        let mut owners = transaction.open_table(OWNERS).unwrap();
        for owner in touched {
            owners.insert(owner_key(owner).as_slice(), [2; OWNER_BYTES].as_slice()).unwrap();
        }
    }
}

fn owner_key(owner: usize) -> Vec<u8> {
    [TENANT.as_slice(), &[1], &(owner as u128).to_be_bytes()[4..]].concat()
}
