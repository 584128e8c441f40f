package settings

import (
	cliflag "k8s.io/component-base/cli/flag"
	componentbaseconfig "k8s.io/component-base/config"
)

// Debugging has the settings of /debug.
type Debugging struct {
	componentbaseconfig.DebuggingConfiguration
}

func newDebugging() Debugging {
	return Debugging{componentbaseconfig.DebuggingConfiguration{EnableProfiling: true}}
}

func (d *Debugging) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("debugging")
	fs.BoolVar(&d.EnableProfiling, "profiling", d.EnableProfiling,
		"Serve /debug/pprof/ and /debug/flags/v on the secure port.")
	fs.BoolVar(&d.EnableContentionProfiling, "contention-profiling", d.EnableContentionProfiling,
		"Record what goroutines wait for. It needs --profiling.")
}

func (*Debugging) validate() []error { return nil }

func (d *Debugging) show(c *configuration) {
	c.Generic.Debugging.EnableProfiling = &d.EnableProfiling
	c.Generic.Debugging.EnableContentionProfiling = &d.EnableContentionProfiling
}
