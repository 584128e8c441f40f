package browser

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const balancersSection = "#load-balancers"

// createWeb creates a load balancer with real backends, and returns the load balancer's
// address.
func createWeb(c *cloud, backends []*backend) string {
	c.t.Helper()
	args := []string{"--listen", "8080:" + backends[0].port}
	for n, b := range backends {
		name := fmt.Sprintf("node-%d", n+1)
		c.operate("create "+name, "--address", "InternalIP="+b.address)
		args = append(args, "--backend", name)
	}
	said := c.operate("lb create web", append(args, "--tag", "service=default/web")...)
	return regexp.MustCompile(`127\.\d+\.\d+\.\d+`).FindString(said) + ":8080"
}

func TestLoadBalancers(t *testing.T) {
	c := startCloud(t)
	backends := startBackends(t, 2)
	p := openLive(t, c)
	p.see(balancersSection, "None.")

	address := createWeb(c, backends)
	p.see(balancersSection, "2 of 2 backends healthy")
	p.see(balancersSection, "web lb-00000001 active "+strings.TrimSuffix(address, ":8080"))
	p.see(balancersSection, "TCP 8080 → "+backends[0].port+" 0 connections")

	p.see(balancersSection, "lets in 0.0.0.0/0 · service=default/web")

	for range 4 {
		connect(t, address)
	}
	p.see(balancersSection, "4 connections")
	p.see(`#load-balancers [data-key="i-00000001"]`, "node-1 healthy 0 2 0 0 B ")

	backends[0].stop()
	p.see(balancersSection, "1 of 2 backends healthy")
	p.see(`#load-balancers [data-key="i-00000001"]`, "node-1 unhealthy dial tcp")
	c.operate("stop node-2")
	p.see(balancersSection, "0 of 2 backends healthy")
	p.see(`#load-balancers [data-key="i-00000002"]`, "node-2 unhealthy the instance is stopped")

	p.press(rowOf("web"), "Delete")
	p.see(balancersSection, "None.")
}

// TestManyBackends checks that an unhealthy backend is shown even if the load
// balancer has more backends than the page lists.
func TestManyBackends(t *testing.T) {
	c := startCloud(t)
	backends := startBackends(t, 25)
	createWeb(c, backends)
	p := openLive(t, c)
	p.see(balancersSection, "25 of 25 backends healthy")
	p.see(balancersSection, "node-20 healthy 0 0 0 0 B 0 B 5 more.")
	p.miss(balancersSection, "node-24")
	backends[23].stop()
	p.see(balancersSection, "24 of 25 backends healthy")
	p.see(balancersSection, "Sent node-24 unhealthy")
}

func TestPendingLoadBalancer(t *testing.T) {
	t.Parallel()
	c := startCloud(t, "--provisioning=20s", "--max-load-balancers=3", "--max-backends=5", "--max-routes=7", "--unique-routes")
	p := openLive(t, c)
	p.see("#summary", "at most 3 load balancers · at most 5 backends each · at most 7 routes · one route for each destination")
	c.operate("lb create web --listen 80:30080 --affinity 1h --check 31999/healthz --source-range 127.0.0.0/8 --drain 5s")
	p.see(balancersSection, "pending none yet")
	p.see(balancersSection, "health check: HTTP /healthz at port 31999 · lets in 127.0.0.0/8 · keeps a client with its backend for 1h0m0s · drains for 5s")
	p.see(balancersSection, "web lb-00000001 active 127.")
}

func TestStaticIPs(t *testing.T) {
	c := startCloud(t)
	c.operate("ip reserve front")
	c.operate("lb create web --listen 80:30080 --static-ip front")
	p := openLive(t, c)
	p.see("#static-ips", "front ip-00000001 127.")
	p.see("#static-ips", "web Release")
	p.see(balancersSection, "static IP front")

	p.expect("409 (Conflict)")
	p.press("section[@id='static-ips']//"+rowOf("front"), "Release")
	p.see("#static-ips", "static IP ip-00000001 is used by load balancer lb-00000001 (web)")
	p.press("section[@id='static-ips']", "Dismiss")
	p.miss("#static-ips", "is used by")

	p.press("section[@id='load-balancers']", "Delete")
	p.see("#static-ips", "unused")
	p.press("section[@id='static-ips']", "Release")
	p.see("#static-ips", "None.")
}

func TestVolumes(t *testing.T) {
	c := startCloud(t)
	c.operate("volume create data --zone sim-1b --zone sim-1a")
	p := openLive(t, c)
	p.see("#volumes", "data vol-00000001 sim-1a, sim-1b sim-1 Delete")
	p.press("section[@id='volumes']", "Delete")
	p.see("#volumes", "None.")
}

func TestRoutes(t *testing.T) {
	c := startCloud(t)
	c.operate("create node-1")
	p := openLive(t, c)
	p.see("#routes", "None.")
	c.operate("route create to-node-1 10.244.1.0/24 --target node-1")
	p.see("#routes", "to-node-1 rt-00000001 active 10.244.1.0/24 node-1")
	c.operate("stop node-1")
	p.see("#routes", "blackhole 10.244.1.0/24 node-1 the instance is stopped")
	p.press("section[@id='routes']", "Delete")
	p.see("#routes", "None.")
}
