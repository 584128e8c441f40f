package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/playground/internal/cluster"
)

// clusterFlags are the flags of a control plane.
type clusterFlags struct {
	podCIDRs, serviceCIDRs string
	auditLog               bool
	gracePeriod            time.Duration
	servingCertificates    bool
	networkFile            string

	apiServerArgs, controllerManagerArgs, schedulerArgs []string
}

func (f *clusterFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.podCIDRs, "cluster-cidr", cluster.DefaultPodCIDR,
		"network of the pods; for a dual-stack cluster, two of different families, separated by a comma")
	flags.StringVar(&f.serviceCIDRs, "service-cidr", cluster.DefaultServiceCIDR,
		"network of the Services; one, or one of each family")
	flags.BoolVar(&f.auditLog, "audit-log", false, "log each request to the API server in the file audit.log of the data folder")
	flags.DurationVar(&f.gracePeriod, "node-monitor-grace-period", 0,
		"how long a kubelet may be silent before its Node becomes Unknown (default: that of kube-controller-manager)")
	flags.BoolVar(&f.servingCertificates, "serving-certificates", false,
		"let the kubelets request certificates for their servers (serverTLSBootstrap); a controller has to approve the requests")
	flags.StringVar(&f.networkFile, "network-file", "",
		"file that stands for the network plugin: while it does not exist, the kubelets report that their network is not ready (default: it is always ready)")
	flags.StringArrayVar(&f.apiServerArgs, "apiserver-arg", nil, "one more argument for kube-apiserver, such as --apiserver-arg=--v=4; may be repeated")
	flags.StringArrayVar(&f.controllerManagerArgs, "controller-manager-arg", nil, "one more argument for kube-controller-manager; may be repeated")
	flags.StringArrayVar(&f.schedulerArgs, "scheduler-arg", nil, "one more argument for kube-scheduler; may be repeated")
}

func (f *clusterFlags) config(dataDir string, clock clock.PassiveClock) (cluster.Config, error) {
	pods, err := cluster.ParseCIDRs(f.podCIDRs)
	if err != nil {
		return cluster.Config{}, fmt.Errorf("--cluster-cidr: %w", err)
	}
	services, err := cluster.ParseCIDRs(f.serviceCIDRs)
	if err != nil {
		return cluster.Config{}, fmt.Errorf("--service-cidr: %w", err)
	}
	if len(services) > len(pods) {
		return cluster.Config{}, errors.New("--service-cidr has two families, --cluster-cidr one")
	}
	networkFile := f.networkFile
	if networkFile != "" { // The path must be absolute, because each kubelet has its own working directory.
		if networkFile, err = filepath.Abs(networkFile); err != nil {
			return cluster.Config{}, fmt.Errorf("--network-file: %w", err)
		}
	}
	executable, err := os.Executable()
	return cluster.Config{
		Executable:             executable,
		DataDir:                dataDir,
		PodCIDRs:               pods,
		ServiceCIDRs:           services,
		AuditLog:               f.auditLog,
		NodeMonitorGracePeriod: f.gracePeriod,
		ServingCertificates:    f.servingCertificates,
		NetworkFile:            networkFile,
		APIServerArgs:          f.apiServerArgs,
		ControllerManagerArgs:  f.controllerManagerArgs,
		SchedulerArgs:          f.schedulerArgs,
		Clock:                  clock,
	}, err
}
