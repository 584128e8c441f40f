package settings

// removed has the flags that upstream has removed, with an explanation for each.
// Upstream refuses them, too.
var removed = map[string]string{
	"address":           "upstream has removed the port without TLS; --bind-address is that of the secure port",
	"port":              "upstream has removed the port without TLS; --secure-port is the other one",
	"add-dir-header":    klogRemoved,
	"alsologtostderr":   klogRemoved,
	"log-backtrace-at":  klogRemoved,
	"log-dir":           klogRemoved,
	"log-file":          klogRemoved,
	"log-file-max-size": klogRemoved,
	"logtostderr":       klogRemoved,
	"one-output":        klogRemoved,
	"skip-headers":      klogRemoved,
	"skip-log-headers":  klogRemoved,
	"stderrthreshold":   klogRemoved,
}

const klogRemoved = "Kubernetes 1.26 has removed it; the log always goes to standard error"
