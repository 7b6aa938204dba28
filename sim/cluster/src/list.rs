//! The components that are built in, a line each. The order is that in which they are drawn and listed: new ones come
//! last, so that seeds keep their meaning.

use std::sync::Arc;

use wavetank_component::Component;
use wavetank_components::{
    binders, clients, conversion_webhooks, custom_resources, etcd, etcd_clients, guests, identity,
    informers, kube_apiserver, load_balancer, metrics_servers, nodes, pod_runners, rollout,
    service_writers, services, watch_cache, writers,
};
use wavetank_kube_controller_manager as kube_controller_manager;
use wavetank_kubelet as kubelet;

/// All of them, and the controllers that controller managers may run, which have a list of their own.
pub(crate) fn all() -> Vec<Arc<dyn Component>> {
    let mut all = processes();
    for controller in kube_controller_manager::new_controller_descriptors() {
        all.push(controller.clone());
    }
    // Those that have come since.
    all.push(Arc::new(kubelet::Kubelets));
    all.push(Arc::new(kubelet::ContainerRuntimes));
    all.push(Arc::new(kubelet::KubeletUsers));
    all.push(Arc::new(binders::Binders));
    all.push(Arc::new(metrics_servers::MetricsServers));
    all
}

fn processes() -> Vec<Arc<dyn Component>> {
    vec![
        Arc::new(kube_apiserver::KubeApiserver),
        Arc::new(services::Services),
        Arc::new(identity::Identity),
        Arc::new(watch_cache::WatchCache),
        Arc::new(clients::Clients),
        Arc::new(etcd::Etcd),
        Arc::new(etcd_clients::EtcdClients),
        Arc::new(informers::InformerClients),
        Arc::new(writers::Writers),
        Arc::new(kube_controller_manager::KubeControllerManager),
        Arc::new(kube_controller_manager::Sieve),
        Arc::new(service_writers::ServiceWriters),
        Arc::new(rollout::RolloutOperator),
        Arc::new(load_balancer::LoadBalancer),
        Arc::new(custom_resources::CustomResources),
        Arc::new(pod_runners::PodRunners),
        Arc::new(guests::Guests),
        Arc::new(nodes::Nodes),
        Arc::new(conversion_webhooks::ConversionWebhooks),
    ]
}
