package simulator

import "net/http"

func (c *Cloud) loadBalancerEndpoints() []endpoint {
	one := "/load-balancers/{id}"
	name := func(l LoadBalancer) string { return l.Name }
	return []endpoint{
		{http.MethodGet, "/load-balancers", ListLoadBalancers, listing(c, c.loadBalancers, c.showLoadBalancers, "tag")},
		{http.MethodPost, "/load-balancers", CreateLoadBalancer, creating(name, c.createLoadBalancer)},
		{http.MethodGet, one, GetLoadBalancer, onOne(c.loadBalancer)},
		{http.MethodPatch, one, UpdateLoadBalancer, patching(c.updateLoadBalancer)},
		{http.MethodDelete, one, DeleteLoadBalancer, withoutBody(onOne(c.deleteLoadBalancer))},
	}
}

func (c *Cloud) showLoadBalancers(rows []*balancer, next string) any {
	list := LoadBalancerList{Items: []LoadBalancer{}, Continue: next}
	for _, b := range rows {
		list.Items = append(list.Items, c.withTraffic(b.shown()))
	}
	return list
}
