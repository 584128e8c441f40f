package api

import (
	"context"
	"net/http"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func (s *Server) loadBalancers() kind {
	return kind{
		name:       "loadBalancer",
		endpoints:  s.loadBalancerEndpoints(),
		collection: collection("load-balancers", s.listLoadBalancers),
		identify:   s.store.IdentifyLoadBalancers,
		note:       func(r *wire.CallRecord, word string) { r.LoadBalancer = word },
	}
}

func (s *Server) loadBalancerEndpoints() []endpoint {
	one := "/load-balancers/{id}"
	name := func(l wire.LoadBalancer) string { return l.Name }
	return []endpoint{
		{http.MethodGet, "/load-balancers", wire.ListLoadBalancers, listing(s, s.listLoadBalancers, "tag")},
		{http.MethodPost, "/load-balancers", wire.CreateLoadBalancer, creating(name, s.store.CreateLoadBalancer)},
		{http.MethodPost, "/load-balancers/backends", wire.SetBackends, s.readSharedBackends},
		{http.MethodGet, one, wire.GetLoadBalancer, onOne(s.loadBalancer)},
		{http.MethodPatch, one, wire.UpdateLoadBalancer, patching(s.store.UpdateLoadBalancer)},
		{http.MethodDelete, one, wire.DeleteLoadBalancer, withoutBody(onOne(s.store.DeleteLoadBalancer))},
	}
}

func (s *Server) loadBalancer(ctx context.Context, id string, v state.Distortions) (wire.LoadBalancer, error) {
	l, err := s.store.LoadBalancer(ctx, id, v)
	if err != nil {
		return l, err
	}
	l.Traffic = s.forwarder.Traffic(id)
	return l, nil
}

func (s *Server) listLoadBalancers(ctx context.Context, q state.Query, v state.Distortions) ([]wire.LoadBalancer, string) {
	all, next := s.store.ListLoadBalancers(ctx, q, v)
	for n := range all {
		all[n].Traffic = s.forwarder.Traffic(all[n].ID)
	}
	return all, next
}

func (s *Server) readSharedBackends(_ *http.Request, body []byte) (operation, error) {
	wanted, err := input.Decode[wire.SharedBackends](body)
	if n := len(wanted.Names); err == nil && (n == 0 || n > wire.MaxSharedBackends) {
		err = input.Invalid("names", "%d are given; a call takes 1 to %d", n, wire.MaxSharedBackends)
	}
	run := func(ctx context.Context, v state.Distortions) (reply, error) {
		var answer wire.BackendOutcomes
		for _, err := range s.store.SetBackends(ctx, wanted, v) {
			outcome := wire.BackendResult{Status: http.StatusOK}
			if err != nil {
				refusal := answerTo(err)
				outcome = wire.BackendResult{Status: refusal.StatusCode, Error: &wire.ErrorDetail{Code: refusal.Code, Message: refusal.Message}}
			}
			answer.Outcomes = append(answer.Outcomes, outcome)
		}
		return reply{http.StatusOK, answer}, nil
	}
	return operation{about: state.Subject{Names: wanted.Names}, run: run}, err
}
