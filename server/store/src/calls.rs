//! The calls of a store, each with its own type of reply. Each sends a command of the closed set, and only here a reply
//! is matched with its command.

use svctrack_core::{
    access::TenantChange,
    plan::{
        RenewalDecision,
        upsert::{Item, UpsertAccess, UpsertOutcome},
    },
    revenue::Closing,
    schema::{CheckedBody, ResourceDef, UnknownMemberPolicy},
    value::{ObjectId, RecordRef, TenantId, Timestamp},
};

use crate::{
    Actor, AuditNote, AutoRenewal, Command, IdempotencyKey, NewClosing, Precondition,
    RecordResponse, Reply, RevocationScope, Store, StoreError, TenantRecord, TokenRecord,
    TrackedEvents, Tracking, Upserted, Upserts,
};

/// The outcome of an idempotent call.
#[derive(Clone, Copy, Debug)]
pub struct IdempotentOutcome<T> {
    /// The reply of the command.
    pub reply: T,
    /// Whether the result is that of an earlier call with the same key.
    pub is_repeated: bool,
}

/// Value of a reply of this form.
macro_rules! of_reply {
    ($reply:expr, $form:pat => $value:expr) => {
        match $reply {
            $form => Ok($value),
            _ => Err(StoreError::Internal("a reply of another kind".to_owned())),
        }
    };
}

/// # Errors
/// [`StoreError`], for each of them.
impl dyn Store {
    /// Carries out a command, once for all calls with its key.
    async fn once(
        &self,
        actor: Actor,
        key: Option<IdempotencyKey>,
        command: Command,
    ) -> Result<IdempotentOutcome<Reply>, StoreError> {
        let command = match key {
            Some(key) => Command::Idempotent { key, command: Box::new(command) },
            None => command,
        };
        Ok(match self.write(actor, command).await? {
            Reply::Repeated(reply) => IdempotentOutcome { reply: *reply, is_repeated: true },
            reply => IdempotentOutcome { reply, is_repeated: false },
        })
    }

    /// Creates a record from a body whose shape has been checked.
    pub async fn create(
        &self,
        actor: Actor,
        key: Option<IdempotencyKey>,
        def: &'static ResourceDef,
        body: CheckedBody,
    ) -> Result<IdempotentOutcome<RecordResponse>, StoreError> {
        let IdempotentOutcome { reply, is_repeated } =
            self.once(actor, key, Command::Create { def, body }).await?;
        let reply = of_reply!(reply, Reply::Record(response) => response)?;
        Ok(IdempotentOutcome { reply, is_repeated })
    }

    /// Merges a body into a record.
    pub async fn update(
        &self,
        actor: Actor,
        (def, reference): (&'static ResourceDef, RecordRef),
        body: CheckedBody,
        precondition: Precondition,
    ) -> Result<RecordResponse, StoreError> {
        let command = Command::Update { def, reference, body, precondition };
        of_reply!(self.write(actor, command).await?, Reply::Record(response) => response)
    }

    /// Renews a license, and returns its successor; or loses it, and returns the license.
    pub async fn decide_renewal(
        &self,
        actor: Actor,
        key: Option<IdempotencyKey>,
        (decision, reference): (RenewalDecision, RecordRef),
        body: CheckedBody,
        precondition: Precondition,
    ) -> Result<IdempotentOutcome<RecordResponse>, StoreError> {
        let command =
            Command::DecideRenewal { decision, reference, body, precondition, dry_run: false };
        let IdempotentOutcome { reply, is_repeated } = self.once(actor, key, command).await?;
        let reply = of_reply!(reply, Reply::Record(response) => response)?;
        Ok(IdempotentOutcome { reply, is_repeated })
    }

    /// Returns the result of a renewal decision, a successor without `_id`; nothing is written.
    pub async fn dry_run_renewal(
        &self,
        actor: Actor,
        (decision, reference): (RenewalDecision, RecordRef),
        body: CheckedBody,
        precondition: Precondition,
    ) -> Result<RecordResponse, StoreError> {
        let command =
            Command::DecideRenewal { decision, reference, body, precondition, dry_run: true };
        of_reply!(self.write(actor, command).await?, Reply::Record(response) => response)
    }

    /// Deletes a record, and returns it if it existed.
    pub async fn delete(
        &self,
        actor: Actor,
        (def, reference): (&'static ResourceDef, RecordRef),
        precondition: Precondition,
    ) -> Result<Option<RecordResponse>, StoreError> {
        let command = Command::Delete { def, reference, precondition };
        of_reply!(self.write(actor, command).await?, Reply::Deleted(deleted) => deleted)
    }

    /// Creates or updates a record for each of many bodies (R17).
    pub async fn upsert(
        &self,
        actor: Actor,
        key: Option<IdempotencyKey>,
        (def, items): (&'static ResourceDef, Vec<Item>),
        (access, handling): (UpsertAccess, UnknownMemberPolicy),
    ) -> Result<IdempotentOutcome<Upserted>, StoreError> {
        let command = Command::Upsert { def, items, access, handling };
        let IdempotentOutcome { reply, is_repeated } = self.once(actor, key, command).await?;
        let reply = of_reply!(reply, Reply::Upserted(upserted) => upserted)?;
        Ok(IdempotentOutcome { reply, is_repeated })
    }

    /// Imports records; returns the outcome of each body.
    pub async fn import(
        &self,
        actor: Actor,
        upserts: Upserts,
    ) -> Result<Vec<UpsertOutcome>, StoreError> {
        let reply = self.write(actor, Command::Import(upserts)).await?;
        of_reply!(reply, Reply::Imported(outcomes) => outcomes)
    }

    /// Ingests events, in order.
    pub async fn track(
        &self,
        actor: Actor,
        key: Option<IdempotencyKey>,
        tracking: Tracking,
    ) -> Result<IdempotentOutcome<TrackedEvents>, StoreError> {
        let IdempotentOutcome { reply, is_repeated } =
            self.once(actor, key, Command::Track(tracking)).await?;
        let reply = of_reply!(reply, Reply::Tracked(tracked) => tracked)?;
        Ok(IdempotentOutcome { reply, is_repeated })
    }

    /// Processes parked events of a report entry, and returns their number.
    pub async fn replay_entry(&self, actor: Actor, id: ObjectId) -> Result<usize, StoreError> {
        let reply = self.write(actor, Command::ReplayEntry(id)).await?;
        of_reply!(reply, Reply::Replayed(count) => count)
    }

    /// Removes an entry of the report, and returns whether it existed.
    pub async fn delete_entry(&self, actor: Actor, id: ObjectId) -> Result<bool, StoreError> {
        let reply = self.write(actor, Command::DeleteEntry(id)).await?;
        of_reply!(reply, Reply::EntryDeleted(was_there) => was_there)
    }

    /// Closes a month; none where data that reports read was changed since the figures were computed.
    pub async fn close_month(
        &self,
        actor: Actor,
        new: NewClosing,
    ) -> Result<Option<Closing>, StoreError> {
        let reply = self.write(actor, Command::CloseMonth(Box::new(new))).await?;
        of_reply!(reply, Reply::Closed(closed) => closed.map(|closed| *closed))
    }

    /// Reopens the last closed month, with a reason, and returns whether it was closed.
    pub async fn reopen_month(
        &self,
        actor: Actor,
        month: String,
        reason: String,
        precondition: Precondition,
    ) -> Result<bool, StoreError> {
        let command = Command::ReopenMonth { month, reason, precondition };
        let reply = self.write(actor, command).await?;
        of_reply!(reply, Reply::Reopened(was_closed) => was_closed)
    }

    /// Begins to erase a person; returns their id, if they exist. `continue_erasure` continues the erasure.
    pub async fn erase(
        &self,
        actor: Actor,
        reference: RecordRef,
        precondition: Precondition,
    ) -> Result<Option<ObjectId>, StoreError> {
        let reply = self.write(actor, Command::Erase { reference, precondition }).await?;
        of_reply!(reply, Reply::Erasing(id) => id)
    }

    /// Removes further data of an erased person; returns whether there is more.
    pub async fn continue_erasure(&self, actor: Actor, id: ObjectId) -> Result<bool, StoreError> {
        let reply = self.write(actor, Command::ContinueErasure(id)).await?;
        of_reply!(reply, Reply::ErasureStep(more) => more)
    }

    /// Lifts the suppression of keys of erased persons; returns how many were suppressed.
    pub async fn unsuppress(
        &self,
        actor: Actor,
        keys: Vec<(&'static str, String)>,
    ) -> Result<usize, StoreError> {
        let reply = self.write(actor, Command::Unsuppress(keys)).await?;
        of_reply!(reply, Reply::Unsuppressed(count) => count)
    }

    /// Writes entries of the audit log about actions that change no data.
    pub async fn write_audit(&self, actor: Actor, notes: Vec<AuditNote>) -> Result<(), StoreError> {
        of_reply!(self.write(actor, Command::Audit(notes)).await?, Reply::Audited => ())
    }

    /// Removes data after its retention period; returns whether there may be more.
    pub async fn sweep(&self, actor: Actor) -> Result<bool, StoreError> {
        of_reply!(self.write(actor, Command::Sweep).await?, Reply::Swept(more) => more)
    }

    /// Renews further licenses that renew automatically; returns the progress of the round.
    pub async fn auto_renew(
        &self,
        actor: Actor,
        round: AutoRenewal,
    ) -> Result<AutoRenewal, StoreError> {
        let reply = self.write(actor, Command::AutoRenew(round)).await?;
        of_reply!(reply, Reply::AutoRenewed(round) => round)
    }

    /// Adds a tenant with its first token, and returns the stored token.
    pub async fn add_tenant(
        &self,
        actor: Actor,
        tenant: TenantRecord,
        token: TokenRecord,
    ) -> Result<TokenRecord, StoreError> {
        let command = Command::AddTenant { tenant, token: Box::new(token) };
        of_reply!(self.write(actor, command).await?, Reply::TokenAdded(token) => *token)
    }

    /// Renames, suspends or resumes a tenant.
    pub async fn change_tenant(
        &self,
        actor: Actor,
        id: TenantId,
        change: TenantChange,
        precondition: Precondition,
    ) -> Result<TenantRecord, StoreError> {
        let reply = self.write(actor, Command::ChangeTenant { id, change, precondition }).await?;
        of_reply!(reply, Reply::Tenant(tenant) => *tenant)
    }

    /// Begins to delete a tenant, which does not exist from then on. `continue_deletion` continues the deletion.
    pub async fn delete_tenant(
        &self,
        actor: Actor,
        id: TenantId,
        precondition: Precondition,
    ) -> Result<TenantRecord, StoreError> {
        let reply = self.write(actor, Command::DeleteTenant { id, precondition }).await?;
        of_reply!(reply, Reply::Tenant(tenant) => *tenant)
    }

    /// Removes further data of the actor's deleted tenant; returns whether there is more.
    pub async fn continue_deletion(&self, actor: Actor) -> Result<bool, StoreError> {
        let reply = self.write(actor, Command::ContinueDeletion).await?;
        of_reply!(reply, Reply::DeletionContinued(more) => more)
    }

    /// Adds a token of the tenant, which acts as a user: a new one where none is named.
    pub async fn add_token(
        &self,
        actor: Actor,
        token: TokenRecord,
        user: Option<RecordRef>,
    ) -> Result<TokenRecord, StoreError> {
        let command = Command::AddToken { token: Box::new(token), user };
        of_reply!(self.write(actor, command).await?, Reply::TokenAdded(token) => *token)
    }

    /// Replaces a token of the tenant, which stays valid until `old_until` at most.
    pub async fn rotate_token(
        &self,
        actor: Actor,
        id: String,
        successor: TokenRecord,
        old_until: Timestamp,
    ) -> Result<TokenRecord, StoreError> {
        let command = Command::RotateToken { id, successor: Box::new(successor), old_until };
        of_reply!(self.write(actor, command).await?, Reply::TokenAdded(token) => *token)
    }

    /// Revokes a token of the tenant; returns how many tokens were revoked with it.
    pub async fn revoke_token(
        &self,
        actor: Actor,
        id: String,
        with: RevocationScope,
    ) -> Result<usize, StoreError> {
        let reply = self.write(actor, Command::RevokeToken { id, with }).await?;
        of_reply!(reply, Reply::TokensRevoked(count) => count)
    }
}
