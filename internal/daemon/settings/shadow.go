package settings

import (
	cliflag "k8s.io/component-base/cli/flag"
)

// Shadow has the setting of a daemon that runs beside the present manager and changes
// nothing.
type Shadow struct {
	// On means that the daemon only decides, logs and counts. It changes nothing.
	On bool
}

func (s *Shadow) addFlags(sections *cliflag.NamedFlagSets) {
	sections.FlagSet("generic").BoolVar(&s.On, "shadow", s.On,
		"Run beside the present manager and change nothing: decide, log and count, and report where the present manager has acted differently. There is no election, no event, no write, and no call that changes the cloud. "+
			"On a host network it needs another --secure-port.")
}

func (*Shadow) validate() []error { return nil }

func (*Shadow) show(*configuration) {}
