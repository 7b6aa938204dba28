//! Who uses volumes in a scenario: users claim storage and give claims up, administrators make volumes, delete them and put those
//! that nobody claims any more to use again. A provisioner makes volumes for claims that wait for one, and deletes those that it is to
//! delete; a scheduler reserves volumes for claims of its class. Each takes one step at a time, by what apiservers say.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES};
use wavetank_api::{Method, Request, Resource, Stored, json};
use wavetank_engine::Name;

use super::fields::{
    BOUND_BY_CONTROLLER, DYNAMICALLY_PROVISIONED, RELEASED, SELECTED_NODE, STORAGE_PROVISIONER,
    access_modes, annotation, capacity, claim_ref, class_of, get_reference, has_annotation, phase,
    reclaim_policy, requested, set_meta_data_annotation, volume_name,
};
use wavetank_components::users::{Args, Client, NAMESPACE, Use};

/// So many names of claims and volumes are used, and sizes in Gi.
const CLAIMS_USED: u64 = 3;
const VOLUMES_USED: u64 = 4;
const SIZES: u64 = 3;
/// What provisions.
const DRIVER: &str = "csi.example.com";

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Claim,
    GiveUp,
    Make,
    Delete,
    UseAgain,
    Provision,
    Reclaim,
    Reserve,
    SelectNode,
}

const ALL: [(&str, What); 9] = [
    ("claim", What::Claim),
    ("give-up", What::GiveUp),
    ("make", What::Make),
    ("delete", What::Delete),
    ("use-again", What::UseAgain),
    ("provision", What::Provision),
    ("reclaim", What::Reclaim),
    ("reserve", What::Reserve),
    ("select-node", What::SelectNode),
];

impl What {
    /// The keys that it uses.
    fn keys(self) -> &'static [&'static str] {
        match self {
            What::Claim => &["claim", "volume", "class", "size"],
            What::GiveUp | What::Provision | What::SelectNode => &["claim"],
            What::Make => &["volume", "class", "size"],
            What::Delete | What::UseAgain | What::Reclaim => &["volume"],
            What::Reserve => &["claim", "volume"],
        }
    }
}

/// How often each is drawn.
const DRAWN: [What; 20] = [
    What::Claim,
    What::Claim,
    What::Claim,
    What::Claim,
    What::GiveUp,
    What::GiveUp,
    What::GiveUp,
    What::Make,
    What::Make,
    What::Make,
    What::Delete,
    What::UseAgain,
    What::UseAgain,
    What::Provision,
    What::Provision,
    What::Provision,
    What::Reclaim,
    What::Reclaim,
    What::Reserve,
    What::SelectNode,
];

/// The class of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Class {
    /// Volumes that administrators make.
    Manual,
    /// The same, and a scheduler binds them.
    Late,
    /// Volumes that are provisioned.
    Dynamic,
}

const CLASSES: [(&str, Class); 3] = [
    ("manual", Class::Manual),
    ("late", Class::Late),
    ("dynamic", Class::Dynamic),
];

impl Class {
    fn name(self) -> &'static str {
        match self {
            Class::Manual => "manual",
            Class::Late => "late",
            Class::Dynamic => "dynamic",
        }
    }
}

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    claim: Option<String>,
    volume: Option<String>,
    class: Option<Class>,
    size: Option<i64>,
}

/// Uses volumes.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesVolumes;

impl Use for UsesVolumes {
    const ROUTINE: Name = Name::new("use-volume");
    type Order = Asked;

    /// `use {what?, claim?, volume?, class?, size?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        let asked = Asked {
            what: args.named("what", &ALL)?,
            claim: args.text("claim"),
            volume: args.text("volume"),
            class: args.named("class", &CLASSES)?,
            size: args.number("size"),
        };
        let mut all = ALL.iter();
        if let Some((name, what)) = all.find(|(_, what)| Some(*what) == asked.what) {
            args.only(name, what.keys())?;
        }
        Ok(asked)
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        let user = VolumeUser { client, asked };
        match what {
            What::Claim => user.claim().await,
            What::GiveUp => {
                let path = PERSISTENT_VOLUME_CLAIMS.path(NAMESPACE, &user.claim_name().await);
                user.client.ask(Request::new(Method::Delete, path)).await;
            }
            What::Make => user.make().await,
            What::Delete => {
                let path = PERSISTENT_VOLUMES.path("", &user.volume_name().await);
                user.client.ask(Request::new(Method::Delete, path)).await;
            }
            What::UseAgain => user.use_again().await,
            What::Provision => user.provision().await,
            What::Reclaim => user.reclaim().await,
            What::Reserve => user.reserve().await,
            What::SelectNode => user.select_node().await,
        }
    }
}

struct VolumeUser {
    client: Client,
    asked: Asked,
}

impl VolumeUser {
    async fn claim_name(&self) -> String {
        match &self.asked.claim {
            Some(claim) => claim.clone(),
            None => format!("c{}", self.client.rx.choose(CLAIMS_USED).await),
        }
    }

    async fn volume_name(&self) -> String {
        match &self.asked.volume {
            Some(volume) => volume.clone(),
            None => format!("v{}", self.client.rx.choose(VOLUMES_USED).await),
        }
    }

    async fn size(&self) -> String {
        format!("{}Gi", self.client.number(self.asked.size, SIZES).await + 1)
    }

    /// Some storage is claimed. There has to be a class for that.
    async fn claim(&self) {
        let class = match self.asked.class {
            Some(class) => class,
            None => {
                let all = [Class::Manual, Class::Manual, Class::Dynamic, Class::Late];
                self.client.one_of(&all).await
            }
        };
        if class != Class::Manual {
            self.make_class(class).await;
        }
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"namespace": NAMESPACE, "name": self.claim_name().await},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": class.name(),
                "resources": {"requests": {"storage": self.size().await}},
            },
        });
        if let Some(volume) = &self.asked.volume {
            json::set(&mut claim, &["spec", "volumeName"], volume.clone());
        }
        let post = Request::new(Method::Post, PERSISTENT_VOLUME_CLAIMS.path(NAMESPACE, ""));
        self.client.ask(post.with(claim)).await;
    }

    async fn make_class(&self, class: Class) {
        let (provisioner, mode) = match class {
            Class::Dynamic => (DRIVER, "Immediate"),
            Class::Late | Class::Manual => ("kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
        };
        let object = json!({
            "apiVersion": STORAGE_CLASSES.api_version(), "kind": STORAGE_CLASSES.kind,
            "metadata": {"name": class.name()}, "provisioner": provisioner, "volumeBindingMode": mode,
        });
        let post = Request::new(Method::Post, STORAGE_CLASSES.path("", ""));
        self.client.ask(post.with(object)).await;
    }

    /// An administrator makes a volume.
    async fn make(&self) {
        let class = match self.asked.class {
            Some(class) => class,
            None => {
                let all = [Class::Manual, Class::Manual, Class::Late];
                self.client.one_of(&all).await
            }
        };
        let name = self.volume_name().await;
        let size = self.size().await;
        let volume = volume(&name, class, &size, "Retain");
        self.post_volume(volume).await;
    }

    async fn post_volume(&self, volume: Json) {
        let post = Request::new(Method::Post, PERSISTENT_VOLUMES.path("", ""));
        self.client.ask(post.with(volume)).await;
    }

    async fn put_volume(&self, volume: &Stored, json: Json) {
        let path = PERSISTENT_VOLUMES.path("", volume.object.name());
        self.client
            .ask(Request::new(Method::Put, path).with(json))
            .await;
    }

    /// One of a resource for which this is true, if there are any, and of the name that was asked for.
    async fn drawn(
        &self,
        of: &Resource,
        name: Option<&str>,
        wanted: impl Fn(&Json) -> bool,
    ) -> Option<Stored> {
        let mut all = self.client.list(of).await;
        all.retain(|own| {
            let object = &own.object;
            name.is_none_or(|name| object.name() == name)
                && wanted(object.json())
                && !object.is_being_deleted()
        });
        match all.is_empty() {
            true => None,
            false => Some(self.client.one_of(&all).await),
        }
    }

    async fn drawn_volume(&self, wanted: impl Fn(&Json) -> bool) -> Option<Stored> {
        let name = self.asked.volume.as_deref();
        self.drawn(&PERSISTENT_VOLUMES, name, wanted).await
    }

    async fn drawn_claim(&self, wanted: impl Fn(&Json) -> bool) -> Option<Stored> {
        let name = self.asked.claim.as_deref();
        self.drawn(&PERSISTENT_VOLUME_CLAIMS, name, wanted).await
    }

    /// An administrator has looked at a volume that nobody claims any more: it may be claimed again.
    async fn use_again(&self) {
        let released = |own: &Json| phase(own) == RELEASED && reclaim_policy(own) == "Retain";
        if let Some(volume) = self.drawn_volume(released).await {
            let mut json = volume.json();
            json::remove(&mut json, &["spec", "claimRef"]);
            json::remove(&mut json, &["metadata", "annotations", BOUND_BY_CONTROLLER]);
            self.put_volume(&volume, json).await;
        }
    }

    /// The provisioner makes a volume for a claim that waits for one.
    async fn provision(&self) {
        let waits = |own: &Json| {
            annotation(own, STORAGE_PROVISIONER) == Some(DRIVER) && volume_name(own).is_empty()
        };
        let Some(claim) = self.drawn_claim(waits).await else {
            return;
        };
        let own = claim.object.json();
        let asked = json::text(own, &["spec", "resources", "requests", "storage"]);
        let name = format!("pvc-{}", claim.object.uid());
        let mut volume = volume(&name, Class::Dynamic, asked, "Delete");
        set_meta_data_annotation(&mut volume, DYNAMICALLY_PROVISIONED, DRIVER);
        json::set(&mut volume, &["spec", "claimRef"], get_reference(&claim));
        self.post_volume(volume).await;
    }

    /// It deletes one that was claimed.
    async fn reclaim(&self) {
        let goes = |own: &Json| {
            phase(own) == RELEASED
                && reclaim_policy(own) == "Delete"
                && has_annotation(own, DYNAMICALLY_PROVISIONED)
        };
        if let Some(volume) = self.drawn_volume(goes).await {
            let path = PERSISTENT_VOLUMES.path("", volume.object.name());
            self.client.ask(Request::new(Method::Delete, path)).await;
        }
    }

    /// A scheduler has a pod with a claim of its class, and reserves a volume for it (`BindPodVolumes`).
    async fn reserve(&self) {
        let late = Class::Late.name();
        let waits = |own: &Json| class_of(own) == late && volume_name(own).is_empty();
        let Some(claim) = self.drawn_claim(waits).await else {
            return;
        };
        let asked = claim.object.json();
        let fits = |own: &Json| {
            class_of(own) == late
                && claim_ref(own).is_none()
                && capacity(own) >= requested(asked)
                && access_modes(asked)
                    .iter()
                    .all(|mode| access_modes(own).contains(mode))
        };
        if let Some(volume) = self.drawn_volume(fits).await {
            let mut json = volume.json();
            json::set(&mut json, &["spec", "claimRef"], get_reference(&claim));
            set_meta_data_annotation(&mut json, BOUND_BY_CONTROLLER, "yes");
            self.put_volume(&volume, json).await;
        }
    }

    /// A scheduler has found no volume, and a node for a pod with a claim: somebody is to provision one there.
    async fn select_node(&self) {
        let late = Class::Late.name();
        let waits = |own: &Json| class_of(own) == late && volume_name(own).is_empty();
        if let Some(claim) = self.drawn_claim(waits).await {
            let mut json = claim.json();
            set_meta_data_annotation(&mut json, SELECTED_NODE, "n1");
            let path = PERSISTENT_VOLUME_CLAIMS.path(NAMESPACE, claim.object.name());
            self.client
                .ask(Request::new(Method::Put, path).with(json))
                .await;
        }
    }
}

/// A volume of CSI.
fn volume(name: &str, class: Class, size: &str, policy: &str) -> Json {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size},
            "storageClassName": class.name(), "persistentVolumeReclaimPolicy": policy,
            "csi": {"driver": DRIVER, "volumeHandle": name},
        },
    })
}
