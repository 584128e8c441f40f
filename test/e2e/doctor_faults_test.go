package e2e

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// faults has a row for each fault that TestDoctor plants, with the code that "doctor"
// must report.
var faults = []struct {
	name, want string
	plant      func(*testing.T, *patient)
}{
	{"CloudOfTheControllerManager", "FL102", func(t *testing.T, p *patient) { p.component(t, "kube-controller-manager", "--cloud-provider=aws") }},
	{"AnotherClusterCIDR", "FL103", func(t *testing.T, p *patient) {
		p.component(t, "kube-controller-manager", "--cluster-cidr=10.9.0.0/16")
	}},
	{"TwoAllocators", "FL103", func(t *testing.T, p *patient) {
		p.argument(t, "--controllers=", "--controllers=*,node-ipam-controller")
	}},
	{"CloudOfTheAPIServer", "FL104", func(t *testing.T, p *patient) { p.component(t, "kube-apiserver", "--cloud-provider=external") }},
	{"NoPreferredAddress", "FL105", func(t *testing.T, p *patient) {
		p.component(t, "kube-apiserver", "--kubelet-preferred-address-types=ExternalDNS")
	}},
	{"AnotherBalancer", "FL106", func(t *testing.T, p *patient) {
		p.workload(t, "controller", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image = "quay.io/metallb/controller:v0.15"
		})
	}},
	{"KubeletWithoutTheFlag", "FL201", func(t *testing.T, p *patient) {
		node := nodes.New(p.Name("doctored"))
		node.Spec = corev1.NodeSpec{PodCIDR: "10.131.0.0/24"}
		p.Register(t, node)
	}},
	{"ManagerDoesNotTolerate", "FL202", func(t *testing.T, p *patient) {
		p.editManager(t, func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Tolerations = slices.DeleteFunc(d.Spec.Template.Spec.Tolerations, func(o corev1.Toleration) bool { return o.Key == api.TaintExternalCloudProvider })
		})
	}},
	{"NoManager", "FL202", func(t *testing.T, p *patient) {
		p.waiting(t, "CloudThrottled")
		p.editManager(t, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32) })
		p.noLease(t, managerName)
	}},
	{"NodeWaits", "FL203", func(t *testing.T, p *patient) { p.waiting(t, "CloudThrottled") }},
	{"OneProviderIDTwice", "FL204", func(t *testing.T, p *patient) {
		p.initialised(t, func(node *corev1.Node) { node.Spec.ProviderID = "simulated://r/" + p.nodes[0] })
	}},
	{"NodeThatTheCloudDoesNotKnow", "FL205", func(t *testing.T, p *patient) { p.waiting(t, "InstanceNotFound") }},
	{"NodeOfAnotherCloud", "FL206", func(t *testing.T, p *patient) {
		p.initialised(t, func(node *corev1.Node) { node.Spec.ProviderID = "k3s://server" })
	}},
	{"RequestForACertificateWaits", "FL207", requestCertificate},
	{"NodeWithoutCIDR", "FL208", func(t *testing.T, p *patient) { p.initialised(t, func(node *corev1.Node) { node.Spec.PodCIDR = "" }) }},
	{"OldLabels", "FL209", func(t *testing.T, p *patient) {
		p.initialised(t, func(node *corev1.Node) { delete(node.Labels, corev1.LabelTopologyZone) })
	}},
	{"DeletionIsHeld", "FL210", func(t *testing.T, p *patient) {
		p.initialised(t, func(node *corev1.Node) {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: "CloudInstanceMissing", Status: corev1.ConditionTrue, Reason: "NoWitness", LastTransitionTime: metav1.Now()})
		})
	}},
	{"NobodyRenewsTheLease", "FL301", func(t *testing.T, p *patient) { p.lease(t, managerName, 10*time.Minute) }},
	{"SecondWorkload", "FL302", func(t *testing.T, p *patient) {
		p.workload(t, "old-ccm", func(d *appsv1.Deployment) {
			d.Spec.Replicas, d.Spec.Strategy = new(int32(1)), appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
			c := &d.Spec.Template.Spec.Containers[0]
			c.Image, c.Args = "hetznercloud/hcloud-cloud-controller-manager:v1.30", []string{"--leader-elect=false"}
		})
	}},
	{"SecondLease", "FL302", func(t *testing.T, p *patient) { p.lease(t, "old-cloud-controller-manager", 0) }},
	{"DNSOfTheCluster", "FL303", func(t *testing.T, p *patient) {
		p.editManager(t, func(d *appsv1.Deployment) { d.Spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirst })
	}},
	{"AllOnOneNode", "FL304", func(t *testing.T, p *patient) {
		if err := p.deletePod(t.Context(), p.pods[1]); err != nil {
			t.Fatal(err)
		}
		p.replica(t, p.nodes[0]) // After this test the manager has one Pod, which is no fault in the other rows.
	}},
	{"TwoImages", "FL306", func(t *testing.T, p *patient) {
		second := p.replica(t, p.nodes[1])
		p.image(t, second, "sha256:2")
	}},
	{"NoElection", "FL309", func(t *testing.T, p *patient) {
		p.argument(t, "", "--leader-elect=false")
		p.noLease(t, managerName)
	}},
	{"ReplicaIsNotReady", "FL310", func(t *testing.T, p *patient) {
		p.setReady(t, managerName, 1)
		expect.Cleanup(t, func(ctx context.Context) error { return p.ready(ctx, managerName, 2) })
	}},
	{"NoRightToDelete", "FL401", func(t *testing.T, p *patient) {
		p.rules(t, func(r *rbacv1.ClusterRole) {
			for i := range r.Rules {
				r.Rules[i].Verbs = slices.DeleteFunc(r.Rules[i].Verbs, func(v string) bool { return v == "delete" })
			}
		})
	}},
	{"RightToReadAllSecrets", "FL403", func(t *testing.T, p *patient) {
		p.rules(t, func(r *rbacv1.ClusterRole) {
			r.Rules = append(r.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}})
		})
	}},
	{"CloudDeniesAccess", "FL501", func(t *testing.T, p *patient) { p.waiting(t, "CloudDenied") }},
	{"LeaseFromTheFuture", "FL502", func(t *testing.T, p *patient) { p.lease(t, managerName, -10*time.Minute) }},
	{"CallsWaitForTheQuota", "FL504", func(t *testing.T, p *patient) {
		p.event(t, corev1.ObjectReference{Kind: "Lease", Namespace: system, Name: managerName}, "CloudCallsLimited")
	}},
	{"ServiceWaits", "FL601", func(t *testing.T, p *patient) { p.service(t, nil, "") }},
	{"TwoWritersOfAStatus", "FL602", func(t *testing.T, p *patient) {
		p.event(t, corev1.ObjectReference{Kind: "Service", Namespace: metav1.NamespaceDefault, Name: p.service(t, nil, withAddress)}, "LoadBalancerStatusContested")
	}},
	{"ClassThatNobodyServes", "FL603", func(t *testing.T, p *patient) {
		p.service(t, func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("example.com/nobody") }, "")
	}},
	{"FinalizerHoldsADeletion", "FL604", func(t *testing.T, p *patient) {
		name := p.service(t, func(s *corev1.Service) { s.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"} }, withAddress)
		if err := p.Admin.CoreV1().Services(metav1.NamespaceDefault).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}},
	{"NoNodeBehindALoadBalancer", "FL605", func(t *testing.T, p *patient) {
		p.service(t, nil, strings.TrimSuffix(withAddress, "}")+`,"conditions":[{"type":"LoadBalancerServing","status":"False","reason":"NoNodes","message":"No node.","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`)
	}},
	{"NoLocalEndpoint", "FL606", func(t *testing.T, p *patient) {
		p.service(t, func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }, withAddress)
	}},
}

// argument replaces the manager's argument that begins with prefix. If prefix is empty,
// it adds an argument.
func (p *patient) argument(t *testing.T, prefix, argument string) {
	t.Helper()
	p.editManager(t, func(d *appsv1.Deployment) {
		args := &d.Spec.Template.Spec.Containers[0].Args
		if prefix != "" {
			*args = slices.DeleteFunc(*args, func(a string) bool { return strings.HasPrefix(a, prefix) })
		}
		*args = append(*args, argument)
	})
}

// workload makes a Deployment like the manager's.
func (p *patient) workload(t *testing.T, name string, change func(*appsv1.Deployment)) {
	t.Helper()
	d := p.manager.DeepCopy()
	d.ObjectMeta = metav1.ObjectMeta{Name: name, Labels: d.Labels}
	d.Spec.Template.Spec.Containers[0].Name = name
	d.Spec.Template.Spec.Containers[0].Args = nil
	change(d)
	deployments := p.Admin.AppsV1().Deployments(system)
	if _, err := deployments.Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error { return deployments.Delete(ctx, name, metav1.DeleteOptions{}) })
	p.setReady(t, name, *d.Spec.Replicas)
}

// rules changes the manager's role until the end of the test.
func (p *patient) rules(t *testing.T, change func(*rbacv1.ClusterRole)) {
	t.Helper()
	roles := p.Admin.RbacV1().ClusterRoles()
	before, err := roles.Get(t.Context(), managerName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changed := before.DeepCopy()
	change(changed)
	if _, err := roles.Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error {
		now, err := roles.Get(ctx, managerName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		now.Rules = before.Rules
		_, err = roles.Update(ctx, now, metav1.UpdateOptions{})
		return err
	})
}

// requestCertificate makes a request for a serving certificate.
func requestCertificate(t *testing.T, p *patient) {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + p.nodes[0], Organization: []string{"system:nodes"}}, DNSNames: []string{p.nodes[0]},
	}, newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	requests := p.Admin.CertificatesV1().CertificateSigningRequests()
	r := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name("doctored")},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		},
	}
	if _, err := requests.Create(t.Context(), r, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error { return requests.Delete(ctx, r.Name, metav1.DeleteOptions{}) })
}
