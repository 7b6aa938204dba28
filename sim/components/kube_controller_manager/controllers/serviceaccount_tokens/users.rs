//! Who uses tokens in a scenario: a client that makes, marks and deletes ServiceAccounts, asks for tokens with Secrets, lets accounts
//! refer to these, and empties and deletes them.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::{SECRETS, SERVICE_ACCOUNTS};
use wavetank_api::{Method, Request, Resource, json};
use wavetank_components::users::{Args, Client, NAMESPACE, Use};
use wavetank_engine::Name;

use super::token_secrets::{NAME_KEY, TYPE, UID_KEY, get_secret_references};

/// So few that they are made again.
const ACCOUNTS_USED: u64 = 2;
const SECRETS_USED: u64 = 4;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Appoint,
    Dismiss,
    /// An account is deleted and made anew at once (`kubectl replace --force`).
    Replace,
    /// The same, and a token of the new one is asked for.
    Renew,
    MarkAccount,
    Ask,
    /// The same for the account that is there, by its UID.
    AskForUid,
    Refer,
    Mark,
    /// What was filled in is taken out.
    Empty,
    Forge,
    Delete,
    /// An account refers to a Secret, which is deleted at once, and is marked.
    Retire,
}

const ALL: [(&str, What); 13] = [
    ("appoint", What::Appoint),
    ("dismiss", What::Dismiss),
    ("replace", What::Replace),
    ("renew", What::Renew),
    ("mark-account", What::MarkAccount),
    ("ask", What::Ask),
    ("ask-for-uid", What::AskForUid),
    ("refer", What::Refer),
    ("mark", What::Mark),
    ("empty", What::Empty),
    ("forge", What::Forge),
    ("delete", What::Delete),
    ("retire", What::Retire),
];

/// How often each is drawn.
const DRAWN: [What; 22] = [
    What::Appoint,
    What::Appoint,
    What::Appoint,
    What::Dismiss,
    What::Replace,
    What::Renew,
    What::MarkAccount,
    What::Ask,
    What::Ask,
    What::Ask,
    What::Ask,
    What::AskForUid,
    What::Refer,
    What::Refer,
    What::Refer,
    What::Mark,
    What::Empty,
    What::Forge,
    What::Delete,
    What::Delete,
    What::Retire,
    What::Retire,
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    account: Option<String>,
    secret: Option<String>,
}

/// Uses tokens.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesTokens;

impl Use for UsesTokens {
    const ROUTINE: Name = Name::new("use-token");
    type Order = Asked;

    /// `use {what?, account?, secret?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            account: args.text("account"),
            secret: args.text("secret"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        let account = match asked.account {
            Some(account) => account,
            None => format!("robot{}", client.rx.choose(ACCOUNTS_USED).await),
        };
        let secret = match asked.secret {
            Some(secret) => secret,
            None => format!("token{}", client.rx.choose(SECRETS_USED).await),
        };
        let (account, secret) = (&*account, &*secret);
        match what {
            What::Appoint => appoint(&client, account).await,
            What::Dismiss => delete(&client, &SERVICE_ACCOUNTS, account).await,
            What::Replace => {
                delete(&client, &SERVICE_ACCOUNTS, account).await;
                appoint(&client, account).await;
            }
            What::Renew => {
                delete(&client, &SERVICE_ACCOUNTS, account).await;
                appoint(&client, account).await;
                ask(&client, account, "", secret).await;
            }
            What::MarkAccount => mark(&client, &SERVICE_ACCOUNTS, account).await,
            What::Ask => ask(&client, account, "", secret).await,
            What::AskForUid => {
                if let Some(found) = client.get(&SERVICE_ACCOUNTS, account).await {
                    let uid = json::text(&found, &["metadata", "uid"]);
                    ask(&client, account, uid, secret).await;
                }
            }
            What::Refer => refer(&client, account, secret).await,
            What::Mark => mark(&client, &SECRETS, secret).await,
            What::Empty => client.change(&SECRETS, secret, &["data"], json!({})).await,
            What::Forge => {
                let certificate = ["data", "ca.crt"];
                client
                    .change(&SECRETS, secret, &certificate, "Zm9yZ2Vk".into())
                    .await;
            }
            What::Delete => delete(&client, &SECRETS, secret).await,
            What::Retire => {
                refer(&client, account, secret).await;
                delete(&client, &SECRETS, secret).await;
                mark(&client, &SERVICE_ACCOUNTS, account).await;
            }
        }
    }
}

async fn post(client: &Client, of: &Resource, mut object: Json) {
    object["apiVersion"] = of.api_version().into();
    object["kind"] = of.kind.into();
    let post = Request::new(Method::Post, of.path(NAMESPACE, ""));
    client.ask(post.with(object)).await;
}

async fn delete(client: &Client, of: &Resource, name: &str) {
    let delete = Request::new(Method::Delete, of.path(NAMESPACE, name));
    client.ask(delete).await;
}

async fn appoint(client: &Client, name: &str) {
    let account = json!({"metadata": {"name": name, "namespace": NAMESPACE}});
    post(client, &SERVICE_ACCOUNTS, account).await;
}

/// Asks for a token of an account, of any UID or of this one.
async fn ask(client: &Client, account: &str, uid: &str, secret: &str) {
    let mut annotations = json!({ NAME_KEY: account });
    if !uid.is_empty() {
        annotations[UID_KEY] = uid.into();
    }
    let metadata = json!({"name": secret, "namespace": NAMESPACE, "annotations": annotations});
    post(
        client,
        &SECRETS,
        json!({"type": TYPE, "metadata": metadata}),
    )
    .await;
}

async fn mark(client: &Client, of: &Resource, name: &str) {
    let mark = client.rx.choose(4).await.to_string();
    client
        .change(of, name, &["metadata", "labels", "mark"], mark.into())
        .await;
}

/// An account refers to a Secret that is there.
async fn refer(client: &Client, account: &str, secret: &str) {
    if client.get(&SECRETS, secret).await.is_none() {
        return;
    }
    let Some(mut found) = client.get(&SERVICE_ACCOUNTS, account).await else {
        return;
    };
    if get_secret_references(&found).contains(&secret) {
        return;
    }
    let mut secrets = json::list(&found, &["secrets"]).to_vec();
    secrets.push(json!({ "name": secret }));
    json::set(&mut found, &["secrets"], secrets);
    let put = Request::new(Method::Put, SERVICE_ACCOUNTS.path(NAMESPACE, account));
    client.ask(put.with(found)).await;
}
