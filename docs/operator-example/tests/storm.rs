wavetank::seeds!(
    websites_are_kept,
    website_operator::command().fixed("websites.yaml"),
    0..20
);
