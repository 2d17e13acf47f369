package e2e

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"
)

// replica is one of several servers on one database. It keeps its address when
// it is started again.
type replica struct {
	*process
	args    []string
	address string
}

// newReplica returns a replica that is not started yet.
func newReplica(t *testing.T, s site, args ...string) *replica {
	t.Helper()
	address := fmt.Sprint("127.0.0.1:", freePort(t))
	return &replica{args: slices.Concat(s.serve(), []string{"--listen", address}, args), address: address}
}

// begin starts the replica, also again, and does not wait until it serves.
func (r *replica) begin(t *testing.T) {
	t.Helper()
	r.process = begin(t, exec.Command(binary, r.args...))
}

func (r *replica) start(t *testing.T) {
	t.Helper()
	r.begin(t)
	r.await(t)
}

// startReplicas starts so many at the same time.
func startReplicas(t *testing.T, s site, count int, args ...string) []*replica {
	t.Helper()
	replicas := make([]*replica, count)
	for i := range replicas {
		replicas[i] = newReplica(t, s, args...)
		replicas[i].begin(t)
	}
	for _, r := range replicas {
		r.await(t)
	}
	return replicas
}

func urlsOf(replicas []*replica) []string {
	urls := make([]string, len(replicas))
	for i, r := range replicas {
		urls[i] = "http://" + r.address
	}
	return urls
}

var lastPort atomic.Int64

func init() { lastPort.Store(15_000 + rand.Int64N(10_000)) }

// freePort returns a port that is not in use. It stays free while its server is
// restarted: it is below the ephemeral ports.
func freePort(t *testing.T) int64 {
	t.Helper()
	for range 1000 {
		port := lastPort.Add(1)
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			continue
		}
		must(t, l.Close())
		return port
	}
	t.Fatal("no port is free")
	return 0
}
