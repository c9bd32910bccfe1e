package main

import (
	"context"
	"log"
	"sync"

	nri "github.com/containerd/nri/pkg/adaptation"
)

// A node's runtime: pods and containers are records, and what a cgroup would have is in them. Calls of plugins are in
// containerd's order and under locks like its own: no plugin is synchronized while a call of the kubelet is under way,
// and updates are applied before anything else happens.
type node struct {
	name string
	nri  *nri.Adaptation
	pods map[string]chan struct{} // that run, to end each: the kubelet's

	mutex      sync.Mutex
	sandboxes  map[string]*nri.PodSandbox
	containers map[string]*nri.Container
	lastPid    uint32
}

func open(name, socket string) (*node, error) {
	n := &node{
		name:       name,
		pods:       map[string]chan struct{}{},
		sandboxes:  map[string]*nri.PodSandbox{},
		containers: map[string]*nri.Container{},
		lastPid:    1 << 22, // no real process has such a number
	}
	var err error
	n.nri, err = nri.New("containerd", "v2.4.2", n.synchronize, n.update, nri.WithSocketPath(socket),
		nri.WithPluginPath(socket+".plugins"), nri.WithPluginConfigPath(socket+".conf"))
	if err != nil {
		return nil, err
	}
	return n, n.nri.Start()
}

// locked does one call of plugins, and what comes of it.
func (n *node) locked(do func(context.Context) error) error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return do(context.Background())
}

// must is for calls whose failure the kubelet would not hear of.
func (n *node) must(do func(context.Context) error) {
	if err := n.locked(do); err != nil {
		log.Printf("%s: %v", n.name, err)
	}
}

func (n *node) say(what string, container *nri.Container) {
	cpu := container.Linux.Resources.Cpu
	say(event{What: what, Node: n.name, Pod: container.PodSandboxId, Container: container.Id, CPUs: cpu.Cpus,
		Mems: cpu.Mems})
}

// An empty set is no change.
func set(container *nri.Container, told *nri.LinuxResources) {
	cpu := container.Linux.Resources.Cpu
	if cpus := told.GetCpu().GetCpus(); cpus != "" {
		cpu.Cpus = cpus
	}
	if mems := told.GetCpu().GetMems(); mems != "" {
		cpu.Mems = mems
	}
	if quota := told.GetCpu().GetQuota(); quota != nil {
		cpu.Quota = quota
	}
}

// Containers that are not there or do not run any more are no failure. To be called under the lock.
func (n *node) apply(updates []*nri.ContainerUpdate) {
	for _, update := range updates {
		container := n.containers[update.ContainerId]
		if container != nil && container.State != nri.ContainerState_CONTAINER_STOPPED {
			set(container, update.GetLinux().GetResources())
			n.say("updated", container)
		}
	}
}

// synchronize is called for each plugin that connects.
func (n *node) synchronize(ctx context.Context, plugin nri.SyncCB) error {
	return n.locked(func(context.Context) error {
		var sandboxes []*nri.PodSandbox
		for _, sandbox := range n.sandboxes {
			sandboxes = append(sandboxes, sandbox)
		}
		var containers []*nri.Container
		for _, container := range n.containers {
			if container.State != nri.ContainerState_CONTAINER_STOPPED {
				containers = append(containers, container)
			}
		}
		updates, err := plugin(ctx, sandboxes, containers)
		if err != nil {
			return err
		}
		n.apply(updates)
		return nil
	})
}

// update is what a plugin asks for of its own accord.
func (n *node) update(_ context.Context, updates []*nri.ContainerUpdate) ([]*nri.ContainerUpdate, error) {
	return nil, n.locked(func(context.Context) error {
		n.apply(updates)
		return nil
	})
}

func (n *node) runPodSandbox(pod *nri.PodSandbox) {
	defer n.nri.BlockPluginSync().Unblock()
	n.must(func(ctx context.Context) error {
		n.sandboxes[pod.Id] = pod
		return n.nri.RunPodSandbox(ctx, &nri.RunPodSandboxRequest{Pod: pod})
	})
}

// createContainer is false where a plugin has refused it.
func (n *node) createContainer(pod *nri.PodSandbox, container *nri.Container) bool {
	defer n.nri.BlockPluginSync().Unblock()
	refused := n.locked(func(ctx context.Context) error {
		answer, err := n.nri.CreateContainer(ctx, &nri.CreateContainerRequest{Pod: pod, Container: container})
		if err != nil {
			return err
		}
		n.apply(answer.Update)
		set(container, answer.GetAdjust().GetLinux().GetResources())
		container.State = nri.ContainerState_CONTAINER_CREATED
		n.containers[container.Id] = container
		n.say("created", container)
		return nil
	})
	if refused != nil {
		n.stop(pod, container)
		n.remove(pod, container)
		say(event{What: "refused", Node: n.name, Pod: pod.Id, Container: container.Id, Why: refused.Error()})
		return false
	}
	n.must(func(ctx context.Context) error {
		return n.nri.PostCreateContainer(ctx, &nri.PostCreateContainerRequest{Pod: pod, Container: container})
	})
	return true
}

func (n *node) startContainer(pod *nri.PodSandbox, container *nri.Container) {
	defer n.nri.BlockPluginSync().Unblock()
	n.must(func(ctx context.Context) error {
		n.lastPid++
		container.Pid = n.lastPid
		return n.nri.StartContainer(ctx, &nri.StartContainerRequest{Pod: pod, Container: container})
	})
	n.must(func(ctx context.Context) error {
		container.State = nri.ContainerState_CONTAINER_RUNNING
		n.say("started", container)
		return n.nri.PostStartContainer(ctx, &nri.PostStartContainerRequest{Pod: pod, Container: container})
	})
}

func (n *node) stopContainer(pod *nri.PodSandbox, container *nri.Container) {
	defer n.nri.BlockPluginSync().Unblock()
	n.stop(pod, container)
}

// Its processes are dead by then.
func (n *node) stop(pod *nri.PodSandbox, container *nri.Container) {
	n.must(func(ctx context.Context) error {
		container.State = nri.ContainerState_CONTAINER_STOPPED
		container.Pid = 0
		n.say("stopped", container)
		answer, err := n.nri.StopContainer(ctx, &nri.StopContainerRequest{Pod: pod, Container: container})
		if err == nil {
			n.apply(answer.Update)
		}
		return err
	})
}

func (n *node) stopPodSandbox(pod *nri.PodSandbox) {
	defer n.nri.BlockPluginSync().Unblock()
	n.must(func(ctx context.Context) error {
		return n.nri.StopPodSandbox(ctx, &nri.StopPodSandboxRequest{Pod: pod})
	})
}

func (n *node) removeContainer(pod *nri.PodSandbox, container *nri.Container) {
	defer n.nri.BlockPluginSync().Unblock()
	n.remove(pod, container)
}

func (n *node) remove(pod *nri.PodSandbox, container *nri.Container) {
	n.must(func(ctx context.Context) error {
		delete(n.containers, container.Id)
		return n.nri.RemoveContainer(ctx, &nri.RemoveContainerRequest{Pod: pod, Container: container})
	})
}

func (n *node) removePodSandbox(pod *nri.PodSandbox) {
	defer n.nri.BlockPluginSync().Unblock()
	n.must(func(ctx context.Context) error {
		delete(n.sandboxes, pod.Id)
		return n.nri.RemovePodSandbox(ctx, &nri.RemovePodSandboxRequest{Pod: pod})
	})
}
