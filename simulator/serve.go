package simulator

import "time"

const serverIdleTimeout = 3 * time.Minute
