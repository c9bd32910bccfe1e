// What a Go extender spends on a call of filter, whatever it decides: encoding/json and the types of
// k8s.io/kube-scheduler, as every extender in Go has them. Each argument is a file with a body; -out is
// written in Google Benchmark's form, with go_reads/NAME and go_reads_and_answers/NAME for each file. Their
// CPU time is that of all threads, so with the garbage that is collected meanwhile.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	extender "k8s.io/kube-scheduler/extender/v1"
)

const reason = "pinion: no NUMA node has 8 free cores"

func read(body []byte) (*extender.ExtenderArgs, error) {
	var args extender.ExtenderArgs
	return &args, json.NewDecoder(bytes.NewReader(body)).Decode(&args)
}

// half takes every second node.
func half(args *extender.ExtenderArgs) *extender.ExtenderFilterResult {
	result := extender.ExtenderFilterResult{FailedNodes: extender.FailedNodesMap{}}
	if args.NodeNames != nil {
		taken := make([]string, 0, len(*args.NodeNames)/2+1)
		for i, name := range *args.NodeNames {
			if i%2 == 0 {
				taken = append(taken, name)
			} else {
				result.FailedNodes[name] = reason
			}
		}
		result.NodeNames = &taken
		return &result
	}
	taken := make([]v1.Node, 0, len(args.Nodes.Items)/2+1)
	for i := range args.Nodes.Items {
		if i%2 == 0 {
			taken = append(taken, args.Nodes.Items[i])
		} else {
			result.FailedNodes[args.Nodes.Items[i].Name] = reason
		}
	}
	result.Nodes = &v1.NodeList{Items: taken}
	return &result
}

func answer(body []byte, to io.Writer) error {
	args, err := read(body)
	if err != nil {
		return err
	}
	return json.NewEncoder(to).Encode(half(args))
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// run is one measurement, of one call.
type run struct {
	Name     string `json:"name"`
	RunType  string `json:"run_type"`
	CPUTime  int64  `json:"cpu_time"`
	RealTime int64  `json:"real_time"`
	TimeUnit string `json:"time_unit"`
}

func measure(name string, call func() error) run {
	var used time.Duration // of the last run, which is the one that counts
	result := testing.Benchmark(func(b *testing.B) {
		before := cpuTime()
		for i := 0; i < b.N; i++ {
			if err := call(); err != nil {
				log.Fatalf("%s: %v", name, err)
			}
		}
		used = cpuTime() - before
	})
	return run{name, "iteration", used.Nanoseconds() / int64(result.N), result.NsPerOp(), "ns"}
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("wire-go: ")
	testing.Init()
	out := flag.String("out", "/dev/stdout", "where the measurements go")
	flag.Parse() // -test.benchtime: how long each is measured
	runs := []run{}
	for _, path := range flag.Args() {
		body, err := os.ReadFile(path)
		if err != nil {
			log.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if args, err := read(body); err != nil || (args.NodeNames == nil && args.Nodes == nil) {
			log.Fatalf("%s: no body of filter: %v", path, err)
		}
		runs = append(runs,
			measure("go_reads/"+name, func() error { _, err := read(body); return err }),
			measure("go_reads_and_answers/"+name, func() error { return answer(body, io.Discard) }))
	}
	written, err := json.Marshal(map[string][]run{"benchmarks": runs})
	if err == nil {
		err = os.WriteFile(*out, written, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}
