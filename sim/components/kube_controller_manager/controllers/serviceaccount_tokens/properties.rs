//! What those who ask for tokens may rely on: no Secret of an account that is there is deleted, no token is for an account that was gone
//! before it was asked for; and once all has been well for a while Secrets have the tokens of their accounts, those of accounts that are
//! gone are gone, accounts refer to no Secret that the controller knows to be gone, and nobody writes any more.

use std::collections::BTreeSet;
use std::time::Duration;

use wavetank_api::kinds::{SECRETS, SERVICE_ACCOUNTS};
use wavetank_api::{Object, json};
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_components::changes::{changes, is_of};
use wavetank_components::promises::{always, reaches, violated};
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, Note, ProcId, Property, Stable, World};
use wavetank_etcd::{Change, KeyValue};

use super::controller::CONTROLLER;
use super::generate::has_root_ca;
use super::notes::{Acts, Begins, Deleted, Does, HearsOfDeletion};
use super::token_secrets::{
    NAMESPACE_KEY, account_name, account_uid, data, get_secret_references, is_token_secret,
    uid_in_token,
};
use super::{NEEDED, USE, USERS};
use crate::quiet::{Act, IsQuiet, Rest, Subject};
use crate::somebody_runs;

/// What failed in a storm is tried again a little later than the storm was long.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(5 * 60);

/// Somebody has to ask for tokens.
const USED: [Entry; 2] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", USE, "{every: 1s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0;
    vec![
        PropertyInfo::new(
            "tokens-of-living-accounts-stay",
            "no Secret is deleted for want of its account, if that has been there since before the Secret was made",
            NEEDED,
            |_| Box::new(always("tokens-of-living-accounts-stay", stay)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "tokens-are-of-living-accounts",
            "no Secret is given the token of an account that was replaced by another before the Secret was made",
            NEEDED,
            |_| Box::new(always("tokens-are-of-living-accounts", are_of_living_accounts)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "token-secrets-are-filled-in",
            "some time after calm each Secret of an account has its token, the root certificate and the namespace",
            NEEDED,
            |settled| Box::new(at_rest("token-secrets-are-filled-in", settled, filled_in)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "tokens-go-with-their-account",
            "some time after calm there is no Secret with a token of an account that is gone, or was made anew",
            NEEDED,
            |settled| Box::new(at_rest("tokens-go-with-their-account", settled, have_accounts)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "references-go-with-tokens",
            "some time after calm no account refers to a Secret with a token that the controller knows to be gone",
            NEEDED,
            |settled| Box::new(References::new(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "tokens-are-quiet",
            "some time after calm the controller of tokens writes and deletes nothing any more, but a few times after a change that \
             comes late",
            NEEDED,
            |settled| Box::new(IsQuiet::after(settled, REST)),
        ),
        reaches(
            "token-was-made",
            "the controller was about to write a token",
            NEEDED,
            |_, note| does(note, Does::FillsIn),
        )
        .fits(users),
        reaches(
            "token-without-account-was-deleted",
            "the controller was about to delete a Secret whose account is gone",
            NEEDED,
            |_, note| does(note, Does::Deletes),
        )
        .fits(users),
        reaches(
            "reference-to-token-was-removed",
            "the controller was about to take a Secret that is gone out of what its account refers to",
            NEEDED,
            |_, note| does(note, Does::Unrefers),
        )
        .fits(users),
    ]
}

fn does(note: &Note, this: Does) -> bool {
    note.body.get().is_some_and(|own: &Acts| own.does == this)
}

/// The account of this name that is stored.
fn account<'a>(world: &'a World, namespace: &str, name: &str) -> Option<&'a KeyValue<Object>> {
    ClusterView(world).get(&SERVICE_ACCOUNTS.key(namespace, name))
}

/// The Secrets that ask for tokens and are not being deleted.
fn token_secrets(world: &World) -> Vec<&Object> {
    let mut all = ClusterView(world).all(SECRETS.registry);
    all.retain(|own| is_token_secret(own) && !own.is_being_deleted());
    all
}

/// A Secret is about to be deleted: is its account there, and has it been? Or one was deleted: was it that one?
fn stay(world: &World, note: &Note) -> Check {
    if let Some(deleted) = note.body.get::<Deleted>() {
        let name = &deleted.secret;
        let message =
            format!("{name} is deleted in the place of another that had this name before");
        return match deleted.meant == deleted.gone {
            true => Check::Held,
            false => violated("secret", name, message),
        };
    }
    let Some(acts) = note
        .body
        .get::<Acts>()
        .filter(|own| own.does == Does::Deletes)
    else {
        return Check::Idle;
    };
    let (namespace, name) = acts.secret.split_once('/').unwrap_or_default();
    let found = ClusterView(world).get(&SECRETS.key(namespace, name));
    let Some(secret) = found.filter(|own| own.value.uid() == &*acts.uid) else {
        return Check::Idle;
    };
    let of = account_name(&secret.value);
    let lives = account(world, namespace, of).is_some_and(|own| {
        let uid = account_uid(&secret.value);
        own.create_revision < secret.create_revision && (uid.is_empty() || uid == own.value.uid())
    });
    let message = format!("{name} is deleted although its account {of} is there");
    match lives {
        false => Check::Held,
        true => violated("secret", name, message),
    }
}

fn are_of_living_accounts(world: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for change in changes(note, &SECRETS) {
        let Some(now) = change
            .now
            .as_ref()
            .filter(|own| is_token_secret(&own.value))
        else {
            continue;
        };
        let before = change.before.as_ref();
        let had = before.and_then(|own| uid_in_token(&own.value));
        let Some(uid) = uid_in_token(&now.value).filter(|_| had.is_none()) else {
            continue;
        };
        checked = Check::Held;
        let (secret, name) = (now.value.name(), account_name(&now.value));
        let owner = account(world, now.value.namespace(), name);
        let is_replaced = owner
            .is_some_and(|own| own.value.uid() != uid && own.create_revision < now.create_revision);
        if is_replaced {
            let message = format!(
                "{secret} was made for the account {name} and has the token of another that had this name before"
            );
            return violated("secret", secret, message);
        }
    }
    checked
}

/// Looks at all Secrets with tokens once, some time after calm.
fn at_rest(name: &'static str, after: Duration, holds: fn(&World) -> Check) -> Stable {
    Stable::new(name, after, |_, _| Check::Idle, holds)
}

fn filled_in(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let mut checked = Check::Idle;
    for secret in token_secrets(world) {
        let (name, namespace) = (secret.name(), secret.namespace());
        let Some(owner) = account(world, namespace, account_name(secret)) else {
            continue;
        };
        let (uid, asked) = (owner.value.uid(), account_uid(secret));
        if !asked.is_empty() && asked != uid {
            continue;
        }
        checked = Check::Held;
        let lacks = match uid_in_token(secret) {
            None => "has no token",
            Some(own) if own != uid => "has the token of another account",
            Some(_) if asked.is_empty() => "does not say whose token it has",
            Some(_) if !has_root_ca(secret.json()) => "has not the root certificate",
            Some(_) if data(secret.json(), NAMESPACE_KEY).is_empty() => "has no namespace",
            Some(_) => continue,
        };
        return violated("secret", name, format!("{name} {lacks}"));
    }
    checked
}

fn have_accounts(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let mut checked = Check::Idle;
    for secret in token_secrets(world) {
        let (name, of) = (secret.name(), account_name(secret));
        let uid = account_uid(secret);
        let owner = account(world, secret.namespace(), of);
        let lives = owner.is_some_and(|own| uid.is_empty() || own.value.uid() == uid);
        if !lives {
            let message = format!("{name} is of the account {of}, which is gone");
            return violated("secret", name, message);
        }
        checked = Check::Held;
    }
    checked
}

/// What the controller that leads was told, unless somebody has referred to it since.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct References {
    after: Duration,
    leader: Option<ProcId>,
    lost: BTreeSet<HearsOfDeletion>,
}

impl References {
    fn new(after: Duration) -> References {
        References {
            after,
            leader: None,
            lost: BTreeSet::new(),
        }
    }

    /// Who refers to a Secret anew means it, or comes too late for the controller.
    fn referred(&mut self, change: &Change<Object>) {
        let Some(now) = change.now.as_ref().map(|own| &own.value) else {
            return;
        };
        let before = change.before.as_ref().map(|own| &own.value);
        let had = before.map_or(Vec::new(), |own| get_secret_references(own.json()));
        for name in get_secret_references(now.json()) {
            if !had.contains(&name) {
                self.lost
                    .retain(|own| *own.name != *name || *own.namespace != *now.namespace());
            }
        }
    }
}

impl Property for References {
    fn name(&self) -> &'static str {
        "references-go-with-tokens"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerns = note.body.get::<Begins>().is_some()
            || note.body.get::<HearsOfDeletion>().is_some()
            || changes(note, &SERVICE_ACCOUNTS).next().is_some();
        (!concerns).then_some(Check::Idle)
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        if note.body.get::<Begins>().is_some() {
            self.leader = Some(note.process);
            self.lost.clear();
        }
        let lost = note.body.get::<HearsOfDeletion>();
        if let Some(lost) = lost.filter(|_| self.leader == Some(note.process)) {
            self.lost.insert(lost.clone());
        }
        for change in changes(note, &SERVICE_ACCOUNTS) {
            self.referred(change);
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        if !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        let mut checked = Check::Idle;
        for lost in &self.lost {
            let is_there = ClusterView(world).get(&SECRETS.key(&lost.namespace, &lost.name));
            let owner = account(world, &lost.namespace, &lost.account);
            let owner = owner
                .filter(|own| lost.account_uid.is_empty() || own.value.uid() == &*lost.account_uid);
            let (None, Some(owner)) = (is_there, owner) else {
                continue;
            };
            checked = Check::Held;
            if get_secret_references(owner.value.json()).contains(&&*lost.name) {
                let (name, account) = (&lost.name, &lost.account);
                let message = format!("{account} refers to {name}, which is gone");
                return violated("account", account, message);
            }
        }
        checked
    }
}

/// A change of a Secret concerns it; one of an account all Secrets of the namespace.
fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let both = [&change.before, &change.now].into_iter().flatten();
    let mut objects = both.map(|kv| &kv.value);
    let is_token = |own: &Object| {
        json::text(own.json(), &["kind"]) == SERVICE_ACCOUNTS.kind || is_token_secret(own)
    };
    if !is_of(change, &SECRETS) && !is_of(change, &SERVICE_ACCOUNTS) {
        return Vec::new();
    }
    let found = objects.find(|own| is_token(own));
    found
        .map(|own| own.namespace().into())
        .into_iter()
        .collect()
}

const REST: Rest = Rest {
    property: "tokens-are-quiet",
    controller: CONTROLLER,
    kind: "secret",
    acts: |secret| format!("{secret} is written or deleted, or its account changed"),
    act: |note| {
        let own: &Acts = note.body.get()?;
        let name = own.secret.clone();
        Some(Act {
            on: name.clone(),
            name,
        })
    },
    concerns,
    follows: |_, secret, changed| {
        let namespace = secret
            .split_once('/')
            .map_or("", |(namespace, _)| namespace);
        changed.contains(namespace)
    },
};
