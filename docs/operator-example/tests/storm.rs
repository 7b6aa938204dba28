use wavetank::case::Case;
use wavetank::catalogue::{Catalogue, Composition};
use website_operator::{Editors, WebsiteOperator};

fn websites() -> Box<dyn Case> {
    let command = wavetank::command().with(WebsiteOperator).with(Editors);
    let fixed = Composition {
        fixed: true,
        ..Composition::default()
    };
    let case = command.catalogue().open("websites.yaml", &fixed);
    case.unwrap_or_else(|error| panic!("{error}"))
}

wavetank::seeds!(websites_are_kept, websites(), 0..20);
