package ec2test

import "encoding/xml"

// The types of the answers. Their elements have EC2's names.

type reservations struct {
	XMLName   xml.Name    `xml:"DescribeInstancesResponse"`
	Instances []described `xml:"reservationSet>item>instancesSet>item"`
}

type described struct {
	ID         string      `xml:"instanceId"`
	Type       string      `xml:"instanceType"`
	State      string      `xml:"instanceState>name"`
	Zone       string      `xml:"placement>availabilityZone"`
	PrivateDNS string      `xml:"privateDnsName"`
	Interfaces []networked `xml:"networkInterfaceSet>item"`
	Tags       []tag       `xml:"tagSet>item"`
}

type networked struct {
	Status     string   `xml:"status"`
	Index      int      `xml:"attachment>deviceIndex"`
	PrivateIPs []string `xml:"privateIpAddressesSet>item>privateIpAddress"`
}

type tag struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

func (i Instance) described(clusterID string) described {
	d := described{
		ID: i.ID, Type: i.Type, State: i.State, Zone: i.Zone, PrivateDNS: i.PrivateDNS,
		Interfaces: []networked{{Status: "in-use", PrivateIPs: []string{i.PrivateIP}}},
	}
	if !i.Untagged {
		d.Tags = append(d.Tags, tag{Key: "kubernetes.io/cluster/" + clusterID, Value: "owned"})
	}
	for key, value := range i.Tags {
		d.Tags = append(d.Tags, tag{Key: key, Value: value})
	}
	return d
}

type created struct {
	XMLName xml.Name `xml:"CreateTagsResponse"`
	Return  bool     `xml:"return"`
}

type zones struct {
	XMLName xml.Name `xml:"DescribeAvailabilityZonesResponse"`
	Zones   []zone   `xml:"availabilityZoneInfo>item"`
}

type zone struct {
	Name string `xml:"zoneName"`
	ID   string `xml:"zoneId"`
}

type topologies struct {
	XMLName xml.Name `xml:"DescribeInstanceTopologyResponse"`
}

type refusal struct {
	XMLName xml.Name `xml:"Response"`
	Code    string   `xml:"Errors>Error>Code"`
	Message string   `xml:"Errors>Error>Message"`
}
