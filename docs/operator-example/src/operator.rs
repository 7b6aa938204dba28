use wavetank::prelude::*;

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
const LABEL: &str = "website";

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

defects! {
    /// Of the operator.
    enum Mistake in "website operators" {
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
    const REPLICAS: &'static str = "website-operators";
    const WATCHES: &'static [Watch] = &[
        Watch::of(&WEBSITES),
        Watch::labelled(&kinds::CONFIG_MAPS, LABEL),
    ];

    async fn reconcile(&self, cx: &Context, key: &str) -> Result<(), Failure> {
        let Some(website) = cx.cached(&WEBSITES, key) else {
            return Ok(());
        };
        let title = json::text(website.object.json(), &["spec", "title"]).to_owned();
        self.publish(cx, &website, &title).await?;
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
            let patch = json!({ "status": status });
            cx.patch(&WEBSITES, key, patch).await?;
        }
        Ok(())
    }
}

impl Websites {
    /// Makes the page of a website, or gives it another title.
    async fn publish(&self, cx: &Context, website: &Stored, title: &str) -> Result<(), Failure> {
        let (namespace, name) = (website.object.namespace(), website.object.name());
        let is_page =
            |page: &Object| json::text(page.json(), &["metadata", "labels", LABEL]) == name;
        let data = json!({ "title": title });
        if let Some(page) = cx.cached_list(&kinds::CONFIG_MAPS, is_page).first() {
            if page.object.json().get("data") != Some(&data) {
                let key = format!("{namespace}/{}", page.object.name());
                let patch = json!({ "data": data });
                cx.patch(&kinds::CONFIG_MAPS, &key, patch).await?;
            }
            return Ok(());
        }
        let page = match self.mistakes.has(Mistake::TrustsItsCache) {
            true => format!("{name}-page-{}", website.resource_version),
            false => format!("{name}-page"),
        };
        let metadata = json!({"namespace": namespace, "name": page, "labels": {LABEL: name}});
        let page = json!({"metadata": metadata, "data": data});
        cx.create(&kinds::CONFIG_MAPS, page).await?;
        cx.event(website, "Published", format!("{name} has a page"));
        Ok(())
    }
}

pub fn websites() -> impl Component {
    let about = "operators that keep a page for each Website";
    let one = "a website has one page at most";
    let kept = "what people ask of a website is not undone";
    let edit = &["spec", "edit"];
    Operator::new("o", about, |on| Websites { mistakes: on.of() })
        .serves(&WEBSITES)
        .defects(Mistake::LIST)
        .promises(one_for_each("one-page-each", one, &kinds::CONFIG_MAPS, LABEL))
        .promises(never_falls("spec-is-kept", kept, &WEBSITES, edit))
}
