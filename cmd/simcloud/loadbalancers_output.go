package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator"
)

func (s *session) printLoadBalancers(out io.Writer, all []simulator.LoadBalancer) error {
	list := func(items []simulator.LoadBalancer) any { return simulator.LoadBalancerList{Items: items} }
	return printList(s, out, all, list, columns[simulator.LoadBalancer]{
		none: "No load balancers. `simcloud lb create NAME` creates one.",
		head: []string{"ID", "NAME", "STATE", "ADDRESS", "LISTENERS", "BACKENDS", "TAGS"},
		row: func(l simulator.LoadBalancer) []string {
			return []string{l.ID, l.Name, string(l.State), orNone(l.Address, "-"), listenerList(l), backendCount(l), pairList(l.Tags)}
		},
	})
}

func (s *session) printLoadBalancer(out io.Writer, l simulator.LoadBalancer) error {
	if s.output == jsonOutput {
		return printJSON(out, l)
	}
	rows := [][]string{
		{"ID:", l.ID},
		{"Name:", l.Name},
		{"State:", string(l.State)},
		{"Address:", orNone(l.Address, "none yet")},
		{"Static IP:", orNone(l.StaticIP, "none")},
	}
	for n, listener := range l.Listeners {
		rows = append(rows, append([]string{heading(n, "Listeners:")}, listenerDetails(l, listener)...))
	}
	for n, backend := range backendDetails(l) {
		rows = append(rows, append([]string{heading(n, "Backends:")}, backend...))
	}
	rows = append(rows,
		[]string{"Source ranges:", strings.Join(l.SourceRanges, ",")},
		[]string{"Affinity:", affinityText(l)},
		[]string{"Health check:", checkText(l.HealthCheck)},
		[]string{"Drain:", drainText(l)},
	)
	return printTable(out, append(rows, pairRows("Tags:", l.Tags)...))
}

// printBalanced prints a load balancer that a command has changed. The output is
// JSON, or one line that says what has happened.
func (s *session) printBalanced(out io.Writer, l simulator.LoadBalancer, what string) error {
	if s.output == jsonOutput {
		return printJSON(out, l)
	}
	return s.say(out, "Load balancer %s (%s) %s %s: %s, %s, backends %s", l.ID, l.Name, what, l.State,
		orNone(l.Address, "no address yet"), listenerList(l), orNone(strings.Join(l.Backends, ","), "none"))
}

func listenerList(l simulator.LoadBalancer) string {
	var words []string
	for _, listener := range l.Listeners {
		port := strconv.Itoa(listener.Port)
		switch t := trafficOf(l, listener); {
		case t.Problem != "":
			port += "(failed)"
		case t.Address != "" && !strings.HasSuffix(t.Address, ":"+port):
			port += "(at " + t.Address[strings.LastIndex(t.Address, ":")+1:] + ")"
		}
		words = append(words, fmt.Sprintf("%s/%s->%d", listener.Protocol, port, listener.BackendPort))
	}
	return strings.Join(words, ",")
}

// trafficOf returns the traffic of a listener. The result is empty if the load
// balancer carries no traffic.
func trafficOf(l simulator.LoadBalancer, listener simulator.Listener) simulator.ListenerTraffic {
	if l.Traffic == nil {
		return simulator.ListenerTraffic{}
	}
	for _, t := range l.Traffic.Listeners {
		if t.Protocol == listener.Protocol && t.Port == listener.Port {
			return t
		}
	}
	return simulator.ListenerTraffic{}
}

func listenerDetails(l simulator.LoadBalancer, listener simulator.Listener) []string {
	words := []string{fmt.Sprintf("%s %d -> %d", listener.Protocol, listener.Port, listener.BackendPort)}
	t := trafficOf(l, listener)
	switch {
	case t.Problem != "":
		words = append(words, t.Problem)
	case t.Address != "":
		words = append(words, "at "+t.Address, fmt.Sprintf("%d connections, %d denied, %d rejected", t.Connections, t.Denied, t.Rejected))
	}
	return words
}

func backendCount(l simulator.LoadBalancer) string {
	if l.Traffic == nil {
		return strconv.Itoa(len(l.Backends))
	}
	healthy := 0
	for _, b := range l.Traffic.Backends {
		if b.Health == simulator.BackendHealthy {
			healthy++
		}
	}
	return fmt.Sprintf("%d of %d healthy", healthy, len(l.Backends))
}

func backendDetails(l simulator.LoadBalancer) [][]string {
	var rows [][]string
	if l.Traffic == nil {
		for _, id := range l.Backends {
			rows = append(rows, []string{id})
		}
	} else {
		for _, b := range l.Traffic.Backends {
			health := string(b.Health)
			if b.Why != "" {
				health += ": " + b.Why
			}
			rows = append(rows, []string{b.Instance, health, fmt.Sprintf("%d open, %d connections, %d failures, %d bytes in, %d out",
				b.Open, b.Connections, b.Failures, b.BytesIn, b.BytesOut)})
		}
	}
	if rows == nil {
		rows = [][]string{{"none"}}
	}
	return rows
}

func affinityText(l simulator.LoadBalancer) string {
	if l.Affinity == 0 {
		return "none"
	}
	return time.Duration(l.Affinity).String()
}

func checkText(h simulator.HealthCheck) string {
	switch {
	case h.Port == 0:
		return "TCP, each backend port"
	case h.Path == "":
		return fmt.Sprintf("TCP %d", h.Port)
	}
	return fmt.Sprintf("HTTP %d%s", h.Port, h.Path)
}

func drainText(l simulator.LoadBalancer) string {
	if l.Drain == nil {
		return "the cloud's own"
	}
	return time.Duration(*l.Drain).String()
}
