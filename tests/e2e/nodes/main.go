// The nodes of a test, without machines: for each of them what of containerd an NRI plugin sees, with containerd's own
// library, and what of a kubelet runs pods. Its standard input is a socket: it takes orders from there as lines of JSON,
// until that ends, and says there what happens, in the order in which it happens on each node.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	nri "github.com/containerd/nri/pkg/adaptation"
	"google.golang.org/protobuf/encoding/protojson"
)

// One of these at a time.
type order struct {
	// A node comes to be, with NRI at that socket.
	Open *struct{ Node, Socket string }
	// A pod is to run: NRI's PodSandbox, and its Containers, of which some end before the next begins.
	Run *struct {
		Node       string
		Pod        json.RawMessage
		Containers []struct {
			Container json.RawMessage
			Ends      bool
		}
	}
	// The pod of that id is to end.
	End *struct{ Node, Pod string }
}

// What has happened: "gone" of a pod; "created", "refused", "started", "updated", "stopped" of a container, with the
// CPUs and memory nodes that it has from now on.
type event struct {
	What      string `json:"what"`
	Node      string `json:"node"`
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	CPUs      string `json:"cpus"`
	Mems      string `json:"mems"`
	Why       string `json:"why,omitempty"`
}

var saying sync.Mutex

func say(what event) {
	saying.Lock()
	defer saying.Unlock()
	if err := json.NewEncoder(os.Stdin).Encode(what); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "nodes:", err)
	os.Exit(1)
}

type nodes map[string]*node

func (all nodes) obey(line []byte) error {
	var to order
	if err := json.Unmarshal(line, &to); err != nil {
		return err
	}
	switch {
	case to.Open != nil:
		opened, err := open(to.Open.Node, to.Open.Socket)
		if err != nil {
			return err
		}
		all[to.Open.Node] = opened
	case to.Run != nil:
		pod := &nri.PodSandbox{}
		if err := protojson.Unmarshal(to.Run.Pod, pod); err != nil {
			return err
		}
		var containers []toRun
		for _, each := range to.Run.Containers {
			container := toRun{Container: &nri.Container{}, ends: each.Ends}
			if err := protojson.Unmarshal(each.Container, container.Container); err != nil {
				return err
			}
			containers = append(containers, container)
		}
		all[to.Run.Node].begin(pod, containers)
	case to.End != nil:
		all[to.End.Node].end(to.End.Pod)
	}
	return nil
}

func main() {
	// A busy machine is no failure of the plugin's: containerd's own limits are 5 s and 2 s.
	nri.SetPluginRegistrationTimeout(time.Minute)
	nri.SetPluginRequestTimeout(time.Minute)
	all := nodes{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if err := all.obey(lines.Bytes()); err != nil {
			fail(fmt.Errorf("%s: %w", lines.Text(), err))
		}
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
}
