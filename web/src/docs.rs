//! The page that shows the description of the API and tries its calls: Swagger UI, from this server alone.

use crate::{
    addresses::Addresses,
    page::{Page, source},
};

const PAGE: &str = include_str!("../pages/docs.html");

/// The page for the server at these addresses, whose calls it may make beside those to its own origin.
pub fn docs_page(addresses: &Addresses) -> Page {
    let origin = source(addresses.origin());
    // Swagger UI sets the style of single elements, and draws its icons from `data:` addresses.
    let csp = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
         connect-src 'self'{origin}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    Page { html: PAGE.to_owned(), csp }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asset;

    #[test]
    fn the_page_loads_nothing_from_elsewhere() {
        let page = docs_page(&Addresses::new("https://x.example"));
        for loaded in
            page.html.split(['"']).filter(|text| text.ends_with(".js") || text.ends_with(".css"))
        {
            assert!(asset(&format!("/{loaded}")).is_some(), "{loaded}");
        }
        assert!(page.csp.contains("connect-src 'self' https://x.example;"), "{}", page.csp);
    }
}
