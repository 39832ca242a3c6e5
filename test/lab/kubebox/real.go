package main

import (
	"os"
	_ "time/tzdata" // kube-controller-manager: CronJobs with time zones

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // as the programs' own main packages do
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
)

func etcd()    { etcdmain.Main(os.Args) }
func etcdctl() { ctlv3.MustStart() }

func apiServer()         { serve(apiserver.NewAPIServerCommand()) }
func controllerManager() { serve(manager.NewControllerManagerCommand()) }
func kubeScheduler()     { serve(scheduler.NewSchedulerCommand()) }

func serve(c *cobra.Command) { os.Exit(cli.Run(c)) }

func runKubeadm() { kubeadmerrors.HandleError(kubeadm.Run()) }

func runKubectl() {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}
