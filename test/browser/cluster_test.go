package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// clusterView is a fake of the program that describes a cluster to the page.
type clusterView struct {
	url string

	mu   sync.Mutex
	body string // guarded by mu; empty means that the cluster does not answer
}

func startClusterView(t *testing.T) *clusterView {
	t.Helper()
	c := &clusterView{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.body == "" {
			http.Error(w, "the control plane is not ready yet", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, c.body)
	}))
	t.Cleanup(server.Close)
	c.url = server.URL + "/"
	return c
}

func (c *clusterView) set(body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.body = body
}

// calm describes a cluster without problems. troubled describes the same cluster half a
// minute later, with problems.
const (
	calm = `{"time":"2026-11-23T12:00:00Z","daemon":{"leads":true,"leader":"machine_1"},"held":[],
		"nodes":[{"name":"node-1","id":"simulated://sim-1/i-00000001","conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","good":true}]}],
		"services":[{"name":"default/web","addresses":["127.64.1.1"],"conditions":[{"type":"LoadBalancerServing","status":"True","reason":"Ready","good":true}]}],
		"events":[{"time":"2026-11-23T11:59:00Z","kind":"Node","name":"node-1","type":"Normal","reason":"Synced","message":"Node synced successfully","count":1}]}`
	troubled = `{"time":"2026-11-23T12:00:30Z","daemon":{"leads":true,"leader":"machine_1"},
		"held":[{"kind":"Node","name":"node-1","reason":"CloudDenied","message":"The cloud denies access.","since":"2026-11-23T12:00:10Z"},
			{"kind":"Service","name":"default/web","since":"2026-11-23T11:50:30Z"}],
		"nodes":[{"name":"node-1","id":"simulated://sim-1/i-00000001","taints":["node.kubernetes.io/unreachable:NoSchedule"],"conditions":[
			{"type":"CloudInstanceMissing","status":"Unknown","reason":"CloudDenied","message":"The cloud denies access.","good":false},
			{"type":"Ready","status":"False","reason":"NodeStatusUnknown","message":"Kubelet stopped posting node status.","good":false}]}],
		"services":[{"name":"default/web","addresses":null,"deleting":true,"conditions":[]}],
		"events":[{"time":"2026-11-23T12:00:10Z","kind":"Node","name":"node-1","type":"Warning","reason":"NodeDeletionHeld","message":"CloudDenied: The cloud denies access.","count":2},
			{"time":"2026-11-23T11:59:00Z","kind":"Node","name":"node-1","type":"Normal","reason":"Synced","message":"Node synced successfully","count":1}]}`
)

func TestTheClusterIsShown(t *testing.T) {
	t.Parallel()
	c := startClusterView(t)
	p := openLive(t, startCloud(t, "--cluster-view="+c.url))
	p.expect("503 (Service Unavailable)")
	p.see("#cluster", "The cluster cannot be shown: the control plane is not ready yet")
	c.set(calm)
	p.see("#cluster", "The cluster cloud-controller-manager works")
	p.see("#held", "Deletions that wait 0 None.")
	p.see("#nodes", "node-1 simulated://sim-1/i-00000001 Ready True KubeletReady none")
	p.see("#services", "default/web LoadBalancerServing True Ready 127.64.1.1")
	p.see("#events", "Node node-1 Synced Node synced successfully")
	p.miss("#cluster", "not ready yet")
	if got := p.text("#cluster-announcement"); got != "" {
		t.Errorf("the first look was announced: %q", got)
	}

	c.set(troubled)
	p.see("#held", "Deletions that wait 2 Node node-1 CloudDenied for 20 s The cloud denies access. Service default/web for 10 min It is being deleted.")
	p.see("#nodes", "CloudInstanceMissing Unknown CloudDenied The cloud denies access.")
	p.see("#nodes", "node.kubernetes.io/unreachable:NoSchedule")
	p.see("#services", "default/web being deleted")
	p.see("#services", "none yet")
	p.see("#events", "Node node-1 NodeDeletionHeld 2 times CloudDenied: The cloud denies access.")
	p.see("#cluster-announcement", "The deletion of Node node-1 waits: CloudDenied. The deletion of Service default/web waits.")

	c.set(strings.Replace(calm, `"leads":true`, `"leads":false`, 1))
	p.see("#held", "Deletions that wait 0 None.")
	p.see("#cluster", "no cloud-controller-manager works")
	p.see("#cluster-announcement", "The deletion of Node node-1 no longer waits. The deletion of Service default/web no longer waits.")

	c.set("")
	p.see("#cluster", "not ready yet")
	p.see("#nodes", "node-1") // unchanged
	c.set("<html>")
	p.see("#cluster", "does not describe a cluster")
	c.set(calm)
	p.miss("#cluster", "does not describe a cluster")
}

func TestTheClusterIsAccessible(t *testing.T) {
	t.Parallel()
	c := startClusterView(t)
	c.set(calm)
	cloud := startCloud(t, "--cluster-view="+c.url)
	p := openLive(t, cloud)
	p.see("#nodes", "node-1")
	p.accessible("the calm cluster")
	c.set(troubled)
	p.see("#held", "CloudDenied")
	p.accessible("the troubled cluster")
	for _, width := range []int64{1280, 700, 320} {
		p.narrow(width)
	}
	p.accessible("the narrow page")
	p.expect("503 (Service Unavailable)")
	c.set("")
	p.see("#cluster", "not ready yet")
	p.accessible("the cluster that does not answer")
}

func TestWithoutAClusterNothingIsShown(t *testing.T) {
	p := openLive(t, startCloud(t)) // if the page requested a cluster, the console would have an error
	p.see("#faults", "Faults none")
	if !evaluate[bool](p, `document.querySelector("#cluster").hidden && document.querySelector("#skip-cluster").hidden`) {
		t.Error("a cluster is shown")
	}
}

// TestWordsOfTheClusterAreText checks that no text from the cluster can run a script
// in the page.
func TestWordsOfTheClusterAreText(t *testing.T) {
	const evil = `<img/src=x/onerror=window.taken=1>`
	c := startClusterView(t)
	view := troubled
	for _, word := range []string{"node-1", "default/web", "CloudDenied", "The cloud denies access.", "Ready", "NodeStatusUnknown", "machine_1", "unreachable", "NodeDeletionHeld", "simulated://sim-1/i-00000001", `"Warning"`} {
		quoted := strings.ReplaceAll(word, `"`, "")
		view = strings.ReplaceAll(view, word, strings.Replace(word, quoted, evil+quoted, 1))
	}
	c.set(view)
	p := openLive(t, startCloud(t, "--cluster-view="+c.url))
	p.see("#held", "Node "+evil)
	p.see("#events", evil+"NodeDeletionHeld")
	if evaluate[bool](p, `"taken" in window || document.querySelector("#cluster img") !== null`) {
		t.Error("a word was taken for a part of the page")
	}
}
