use wavetank::component::Stored as Told;
use wavetank::operator;
use wavetank::prelude::*;
use wavetank::version;

use crate::properties;

/// example.com/v1 websites
pub static WEBSITES: Resource = Resource {
    group: "example.com",
    version: "v1",
    plural: "websites",
    kind: "Website",
    namespaced: true,
    registry: "/registry/example.com/websites",
    strategy: &CustomResource::WITHOUT_STATUS,
};

/// The label of a page: the website that it is of.
pub const LABEL: &str = "website";

const TRUSTS_ITS_CACHE: Defect = Defect::known(
    "website-trusts-its-cache",
    "the first mistake",
    "a page that the cache does not show yet is created again, under a name that is made anew",
)
.ships(Gate::NEVER);

const OVERWRITES_SPEC: Defect = Defect::known(
    "website-overwrites-spec",
    "the second mistake",
    "a status is written with all of the cached object, under the newest resourceVersion",
)
.ships(Gate::NEVER);

version::defects! {
    /// Of the operator.
    pub enum Mistake in "website operators" {
        TrustsItsCache = TRUSTS_ITS_CACHE,
        OverwritesSpec = OVERWRITES_SPEC,
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Websites {
    mistakes: Set<Mistake>,
}

impl Reconciler for Websites {
    const NAME: &'static str = "website-operator";
    const WATCHES: &'static [Watch] = &[
        Watch::of(&WEBSITES),
        Watch::labelled(&kinds::CONFIG_MAPS, LABEL),
    ];

    async fn reconcile(&self, cx: &Context, key: &str) -> Result<(), Failure> {
        let Some(website) = cx.cached(&WEBSITES, key) else {
            return Ok(());
        };
        let title = json::text(website.object.json(), &["spec", "title"]).to_owned();
        let named = website.object.name().to_owned();
        let is_page =
            |page: &Object| json::text(page.json(), &["metadata", "labels", LABEL]) == named;
        let metadata = match self.mistakes.has(Mistake::TrustsItsCache) {
            true => json!({"name": format!("{named}-page-{}", website.resource_version)}),
            false => json!({"name": format!("{named}-page")}),
        };
        match cx.cached_list(&kinds::CONFIG_MAPS, is_page).first() {
            None => {
                let mut page = json!({"metadata": metadata, "data": {"title": title}});
                page["metadata"]["namespace"] = website.object.namespace().into();
                page["metadata"]["labels"] = json!({LABEL: named});
                cx.create(&kinds::CONFIG_MAPS, page).await?;
                cx.event(&website, "Published", format!("{named} has a page"));
            }
            Some(page) if json::text(page.object.json(), &["data", "title"]) != title => {
                let key = format!("{}/{}", page.object.namespace(), page.object.name());
                let patch = json!({"data": {"title": title}});
                cx.patch(&kinds::CONFIG_MAPS, &key, patch).await?;
            }
            Some(_) => {}
        }
        let status = json!({ "title": title });
        if website.object.json().get("status") == Some(&status) {
            return Ok(());
        }
        if self.mistakes.has(Mistake::OverwritesSpec) {
            let newest = cx.get(&WEBSITES, key).await?;
            let mut website = website.json();
            website["metadata"]["resourceVersion"] = newest.resource_version.to_string().into();
            website["status"] = status;
            cx.update(&WEBSITES, website).await?;
        } else {
            cx.patch(&WEBSITES, key, json!({ "status": status }))
                .await?;
        }
        Ok(())
    }
}

/// The operator, as a component.
pub struct WebsiteOperator;

const OPERATORS: &str = "website-operators";

pub const NEEDED: Need = operator::needed(
    |spec| spec.count(OPERATORS) > 0,
    "`website-operators: 2` to `topology`",
);

impl Component for WebsiteOperator {
    fn name(&self) -> &'static str {
        OPERATORS
    }

    fn about(&self) -> &'static str {
        "operators that keep a page for each Website"
    }

    fn replicas(&self) -> Option<Replicas> {
        Some(Replicas::counted(
            OPERATORS,
            "o",
            "The number of operators.",
        ))
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        operator::check(OPERATORS, spec, mistakes);
    }

    fn kinds(&self) -> Vec<&'static Resource> {
        vec![&WEBSITES]
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        operator::managers(OPERATORS, setup, wiring, &[Mistake::LIST], |on| Websites {
            mistakes: on.of(),
        });
    }

    fn holds(&self, _: &Spec) -> Vec<(&'static str, String)> {
        operator::holds::<Websites>(OPERATORS)
    }

    fn defects(&self) -> Vec<List> {
        vec![Mistake::LIST]
    }

    fn describe_stored(&self, key: &str, value: Option<&Json>) -> Option<Told> {
        let what = key.contains("/websites/") || key.contains("/configmaps/");
        let text = value.map(|value| format!("{} {}", value["spec"], value["data"]));
        what.then(|| Told {
            text,
            about: vec![key.to_owned()],
        })
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        properties::all()
    }
}
