//! The controller of tokens of ServiceAccounts (`pkg/controller/serviceaccount/tokens_controller.go`): a Secret that asks for a token
//! is given one, and goes with its account. `controller` is what wakes it and what it works with, `keys` what stands in its queues,
//! `sync` one turn for an account or a Secret, `generate` what is put into a Secret, `references` what accounts say of Secrets that are
//! gone; `token_secrets` reads such a Secret. `users` are who makes accounts and Secrets in a scenario, `options` the key without which
//! there is no such controller, `properties` what is promised, `defects` what may be wrong, `describe` how that is told.

mod controller;
mod defects;
mod describe;
mod generate;
mod keys;
mod notes;
mod options;
mod properties;
mod references;
mod sync;
mod token_secrets;
mod users;

use wavetank_api::kinds::{SECRETS, SERVICE_ACCOUNTS};
use wavetank_component::{Keys, Load, Need, Replicas};
use wavetank_version::Listed;

use crate::declared::{Declared, Syncs, Users, add_user};
use crate::{gates, runs};
use controller::{ACCOUNT, CONTROLLER};
use defects::TokensDefect;
use options::Options;
use users::UsesTokens;

/// The key of the number of those who use tokens.
const USERS: &str = "token-users";
/// What they are told.
const USE: &str = "use-tokens";

const NEEDED: Need = Need {
    met: |spec| runs(spec, CONTROLLER),
    lacking: "the controller of tokens, which does not run",
    add: "`controllers: [serviceaccount-token-controller]` and `service-account-private-key-file: sa.key` to `options`, and \
          `controller-managers: 1` to `topology`",
};

const SYNCS: Syncs = Syncs {
    key: "concurrent-serviceaccount-token-syncs",
    about: "The number of accounts, and of Secrets, that the controller of tokens syncs at once \
            (`--concurrent-serviceaccount-token-syncs`); without it 5.",
    default: 5,
};

const CLIENTS: Users = Users::new(
    Replicas::counted(
        USERS,
        "tk",
        "The number of clients that make, mark and delete ServiceAccounts and Secrets with their tokens, named tk1, tk2 and so on.",
    ),
    Load::command(
        USE,
        "use",
        "Until the storm ends, users make, replace, mark or delete an account, ask for a token, refer to it, empty or delete it.",
        Need {
            met: |spec| spec.count(USERS) > 0,
            lacking: "there is nobody to ask for tokens",
            add: "`token-users: 2` to `topology`",
        },
    ),
    add_user::<UsesTokens>,
);

/// Its declaration.
pub(crate) const DECLARED: Declared = Declared {
    service_account: Some(ACCOUNT),
    requires_special_handling: true,
    parts: &[Keys::of::<Options>],
    users: Some(CLIENTS),
    check: options::check,
    resources: |_| vec![&SERVICE_ACCOUNTS, &SECRETS],
    defects: &[TokensDefect::LIST],
    properties: properties::all,
    settles_within: properties::SETTLES_WITHIN,
    note: describe::note,
    stored: describe::stored,
    ..Declared::new(
        (
            "serviceaccount-tokens",
            "the controller that gives tokens to Secrets of ServiceAccounts, and who asks for them",
        ),
        (CONTROLLER, gates::TOKENS_CONTROLLER),
        Some(SYNCS),
        NEEDED,
        |_, cx, workers| controller::new(cx, workers),
    )
};
