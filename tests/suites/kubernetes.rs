//! The manifest of Kubernetes: what it sets are settings of the server, its parts fit each other, and its probes ask what
//! the server has.

use svctrack_tests::docs;
use yaml_rust2::{Yaml, YamlLoader};

use crate::container::settings_in_force;

/// Memory at full load beyond the cache, in MiB, with as much again to spare.
const BEYOND_CACHE_MIB: i64 = 200;

fn manifest() -> Vec<Yaml> {
    YamlLoader::load_from_str(&docs::read("server/ops/kubernetes.yaml")).unwrap()
}

fn list(value: &Yaml) -> &Vec<Yaml> {
    value.as_vec().unwrap_or_else(|| panic!("no list: {value:?}"))
}

fn text(value: &Yaml) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value:?}"))
}

/// The names of a list.
fn names(value: &Yaml) -> Vec<&str> {
    list(value).iter().map(|part| text(&part["name"])).collect()
}

#[test]
fn the_manifest_sets_what_the_server_knows() {
    let all = manifest();
    let container = &all[0]["spec"]["template"]["spec"]["containers"][0];
    let variables = list(&container["env"]).iter();
    let variables: Vec<_> =
        variables.map(|variable| (text(&variable["name"]), text(&variable["value"]))).collect();
    let settings = settings_in_force(&variables);
    let limit = text(&container["resources"]["limits"]["memory"]).strip_suffix("Gi").unwrap();
    let limit_mib = limit.parse::<i64>().unwrap() * 1024;
    let cache_mib = settings["cache-mb"]["value"].as_i64().unwrap();
    assert!(limit_mib >= cache_mib + BEYOND_CACHE_MIB, "{limit_mib} {cache_mib}");

    let port = |setting: &str| {
        let address = settings[setting]["value"].as_str().unwrap();
        address.rsplit_once(':').unwrap().1.parse::<i64>().unwrap()
    };
    let image = docs::read("server/ops/Dockerfile");
    assert_eq!(names(&container["ports"]), ["http", "admin"]);
    let [http, admin] = [0, 1].map(|index| &container["ports"][index]["containerPort"]);
    assert!(image.contains(&format!("\nEXPOSE {}\n", http.as_i64().unwrap())));
    assert_eq!(admin.as_i64(), Some(port("admin-listen")));
    for (probe, path) in
        [("startupProbe", "/metrics"), ("livenessProbe", "/metrics"), ("readinessProbe", "/ready")]
    {
        let asked = &container[probe]["httpGet"];
        assert_eq!((text(&asked["path"]), text(&asked["port"])), (path, "admin"), "{probe}");
    }

    let mounts = list(&container["volumeMounts"]);
    let mounted = |path: &str| {
        mounts.iter().any(|mount| path.starts_with(&format!("{}/", text(&mount["mountPath"]))))
    };
    for setting in ["bootstrap-token-file", "bootstrap-operator-token-file"] {
        let file = settings[setting]["value"].as_str().unwrap();
        assert!(mounted(file), "{file}");
    }
    assert!(image.contains("SVCTRACK_DATA=/data ") && mounted("/data/"));
    let spec = &all[0]["spec"];
    let claims = list(&spec["volumeClaimTemplates"]).iter();
    let mut volumes: Vec<_> = claims.map(|claim| text(&claim["metadata"]["name"])).collect();
    volumes.extend(names(&spec["template"]["spec"]["volumes"]));
    assert_eq!(names(&container["volumeMounts"]), volumes);
}

#[test]
fn the_pod_has_one_server_with_no_rights_and_what_selects_it_names_its_labels() {
    let all = manifest();
    let kinds: Vec<_> = all.iter().map(|part| text(&part["kind"])).collect();
    assert_eq!(kinds, ["StatefulSet", "Service", "NetworkPolicy"]);
    let spec = &all[0]["spec"];
    assert_eq!(spec["replicas"].as_i64(), Some(1), "a store has one writer");
    let pod = &spec["template"]["spec"];
    let container = &pod["containers"][0]["securityContext"];
    assert_eq!(pod["securityContext"]["runAsNonRoot"].as_bool(), Some(true));
    assert_eq!(text(&pod["securityContext"]["seccompProfile"]["type"]), "RuntimeDefault");
    assert_eq!(pod["automountServiceAccountToken"].as_bool(), Some(false));
    assert_eq!(container["readOnlyRootFilesystem"].as_bool(), Some(true));
    assert_eq!(container["allowPrivilegeEscalation"].as_bool(), Some(false));
    assert_eq!(text(&container["capabilities"]["drop"][0]), "ALL");

    let labels = &spec["template"]["metadata"]["labels"];
    assert_eq!(&spec["selector"]["matchLabels"], labels);
    assert_eq!(&all[1]["spec"]["selector"], labels);
    assert_eq!(&all[2]["spec"]["podSelector"]["matchLabels"], labels);
    assert_eq!(text(&spec["serviceName"]), text(&all[1]["metadata"]["name"]));
    // Whoever has no business with the admin address does not reach it.
    let rules = list(&all[2]["spec"]["ingress"]);
    let open = rules.iter().filter(|rule| rule["from"].is_badvalue());
    let open: Vec<_> = open.map(|rule| text(&rule["ports"][0]["port"])).collect();
    assert_eq!(open, ["http"]);
}
