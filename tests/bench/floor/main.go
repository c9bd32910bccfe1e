// A do-nothing NRI plugin on containerd's own stub: what any plugin costs. It subscribes to the
// events that pinion-agent subscribes to, answers nothing, and comes back when the runtime drops it.
package main

import (
	"context"
	"flag"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"
)

type (
	pod       = api.PodSandbox
	container = api.Container
	update    = api.ContainerUpdate
)

type floor struct{}

func (floor) Synchronize(context.Context, []*pod, []*container) ([]*update, error) { return nil, nil }
func (floor) RunPodSandbox(context.Context, *pod) error                            { return nil }
func (floor) StopPodSandbox(context.Context, *pod) error                           { return nil }
func (floor) RemovePodSandbox(context.Context, *pod) error                         { return nil }
func (floor) CreateContainer(context.Context, *pod, *container) (*api.ContainerAdjustment, []*update, error) {
	return nil, nil, nil
}
func (floor) UpdateContainer(context.Context, *pod, *container, *api.LinuxResources) ([]*update, error) {
	return nil, nil
}
func (floor) StopContainer(context.Context, *pod, *container) ([]*update, error) { return nil, nil }
func (floor) PostCreateContainer(context.Context, *pod, *container) error        { return nil }
func (floor) StartContainer(context.Context, *pod, *container) error             { return nil }
func (floor) PostStartContainer(context.Context, *pod, *container) error         { return nil }
func (floor) PostUpdateContainer(context.Context, *pod, *container) error        { return nil }
func (floor) RemoveContainer(context.Context, *pod, *container) error            { return nil }

func main() {
	socket := flag.String("nri-socket", "/var/run/nri/nri.sock", "the runtime's NRI socket")
	flag.Parse()
	for {
		plugin, err := stub.New(floor{}, stub.WithSocketPath(*socket), stub.WithPluginName("floor"),
			stub.WithPluginIdx("10"), stub.WithOnClose(func() {}))
		if err == nil {
			err = plugin.Run(context.Background())
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
		}
	}
}
