//! An operator of Websites: each has one page, a ConfigMap with its title. It has two mistakes that operators are known
//! for, each a defect that can be turned on.

mod editors;
mod operator;
mod properties;

pub use editors::Editors;
pub use operator::WebsiteOperator;
