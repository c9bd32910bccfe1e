// kube-scheduler with one plugin more, NodeResourceTopologyMatch of scheduler-plugins, which no Debian has: another
// scheduler that reads what the extender writes of nodes. Of Kubernetes as in tests/e2e/kube; a module of its own, since
// the plugin brings others of what both need.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	_ "sigs.k8s.io/scheduler-plugins/apis/config/scheme" // knows the plugin's arguments
	topology "sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
)

func main() {
	os.Exit(cli.Run(app.NewSchedulerCommand(app.WithPlugin(topology.Name, topology.New))))
}
