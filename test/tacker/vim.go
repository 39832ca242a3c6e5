package tacker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/gybe-nfv/gybe/test/simcloud"
)

const (
	// typeOpenStack and typeKubernetes are vimType of version 2.
	typeOpenStack  = "ETSINFV.OPENSTACK_KEYSTONE.V_3"
	typeKubernetes = "ETSINFV.KUBERNETES.V_1"
	// zone is what Tacker's own NFVO grants to every VNFC unless it is configured otherwise.
	zone = "nova"
	// key is that of the connection in vimConnectionInfo of version 2.
	key = "vim1"
	// patience bounds how long a stack may take.
	patience = 5 * time.Minute
)

// VIM is an OpenStack that is registered in Tacker.
type VIM struct {
	ID string

	s    *Server
	auth gophercloud.AuthOptions
	heat *gophercloud.ServiceClient
	nova *gophercloud.ServiceClient
}

// Connect registers an OpenStack as the default VIM. The identity endpoint ends with /v3.
func (s *Server) Connect(auth gophercloud.AuthOptions) *VIM {
	s.tb.Helper()
	ctx := s.tb.Context()
	provider, err := simcloud.Login(ctx, auth)
	s.must(err)
	s.tb.Cleanup(provider.HTTPClient.CloseIdleConnections)
	// Heat redirects from the name of a stack, and the token has to come along, as with Tacker's client.
	provider.HTTPClient.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		req.Header.Set("X-Auth-Token", via[0].Header.Get("X-Auth-Token"))
		return nil
	}
	v := &VIM{ID: uuid.NewString(), s: s, auth: auth}
	at := gophercloud.EndpointOpts{Region: simcloud.Region}
	v.heat, err = openstack.NewOrchestrationV1(provider, at)
	s.must(err)
	v.nova, err = openstack.NewComputeV2(provider, at)
	s.must(err)
	s.AddVim(obj{
		"id": v.ID, "name": "VIM0", "description": "", "type": "openstack", "status": "REACHABLE", "is_default": true,
		"tenant_id": uuid.NewString(), "auth_url": auth.IdentityEndpoint,
		"auth_cred": obj{
			"username": auth.Username, "password": "***", "user_domain_name": v.domain(), "user_id": "",
			"project_name": v.project(), "project_domain_name": v.domain(), "project_id": "", "cert_verify": "True",
			"auth_url": auth.IdentityEndpoint,
		},
		"vim_project":    obj{"name": v.project(), "project_domain_name": v.domain()},
		"placement_attr": obj{"regions": []string{simcloud.Region}},
		"extra":          obj{}, "created_at": "2024-04-16 04:00:00", "updated_at": nil,
	})
	return v
}

// AddVim adds an entry to /v1.0/vims.
func (s *Server) AddVim(doc map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vims = append(s.vims, clone(doc))
}

func (v *VIM) project() string {
	if v.auth.Scope != nil && v.auth.Scope.ProjectName != "" {
		return v.auth.Scope.ProjectName
	}
	return v.auth.TenantName
}

func (v *VIM) domain() string { return v.auth.DomainName }

// connection is the entry in vimConnectionInfo of version 2, without the password.
func (v *VIM) connection() obj {
	return obj{
		"vimId": v.ID, "vimType": typeOpenStack, "interfaceInfo": obj{"endpoint": v.auth.IdentityEndpoint},
		"accessInfo": obj{
			"region": simcloud.Region, "project": v.project(), "username": v.auth.Username,
			"userDomain": v.domain(), "projectDomain": v.domain(),
		},
	}
}

// call sends a request to Heat. A path is that of a stack or one below it.
func (v *VIM) call(method, path string, body, out any) error {
	opts := &gophercloud.RequestOpts{
		OkCodes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent},
	}
	if body != nil {
		opts.JSONBody = body
	}
	if out != nil {
		opts.JSONResponse = out
	}
	res, err := v.heat.Request(v.s.tb.Context(), method, v.heat.Endpoint+path, opts)
	if err == nil && out == nil {
		_ = res.Body.Close()
	}
	return err
}

// stackView is what Heat says of a stack.
type stackView struct {
	ID         string            `json:"id"`
	Name       string            `json:"stack_name"`
	Status     string            `json:"stack_status"`
	Reason     string            `json:"stack_status_reason"`
	Parameters map[string]string `json:"parameters"`
}

// resource is a resource of a stack.
type resource struct {
	Name       string   `json:"resource_name"`
	ID         string   `json:"physical_resource_id"`
	Type       string   `json:"resource_type"`
	Status     string   `json:"resource_status"`
	RequiredBy []string `json:"required_by"`
	Created    string   `json:"creation_time"`
	Links      []struct {
		Rel  string `json:"rel"`
		Href string `json:"href"`
	} `json:"links"`
}

// link is name/id of the stack that a link of the resource leads to.
func (r resource) link(rel string) string {
	for _, l := range r.Links {
		if l.Rel == rel {
			_, path, _ := strings.Cut(l.Href, "/stacks/")
			return path
		}
	}
	return ""
}

// show reads a stack by its name, or name/id.
func (v *VIM) show(stack string) *stackView {
	v.s.tb.Helper()
	var out struct {
		Stack *stackView `json:"stack"`
	}
	v.s.must(v.call(http.MethodGet, "stacks/"+stack, nil, &out))
	return out.Stack
}

// settled waits until Heat has finished with a stack.
func (v *VIM) settled(stack string) *stackView {
	v.s.tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for {
		view := v.show(stack)
		if !strings.HasSuffix(view.Status, "_IN_PROGRESS") {
			return view
		}
		select {
		case <-tick.C:
		case <-end:
			v.s.tb.Fatalf("stack %s is %s after %s", stack, view.Status, patience)
		}
	}
}

// create creates a stack and waits for it.
func (v *VIM) create(name string, fields obj) *stackView {
	v.s.tb.Helper()
	fields["stack_name"] = name
	v.s.must(v.call(http.MethodPost, "stacks", fields, nil))
	view := v.settled(name)
	if view.Status != "CREATE_COMPLETE" {
		v.s.tb.Fatalf("stack %s is %s: %s", name, view.Status, view.Reason)
	}
	return view
}

// update sends the update of version 2: what is given is merged with what Heat has, and the rest stays (PATCH).
func (v *VIM) update(stack string, template, nfv obj) *stackView {
	v.s.tb.Helper()
	var current obj
	v.s.must(v.call(http.MethodGet, "stacks/"+stack+"/template", nil, &current))
	var parameters obj
	v.s.must(json.Unmarshal([]byte(v.show(stack).Parameters["nfv"]), &parameters))
	v.s.must(v.call(http.MethodPatch, "stacks/"+stack, obj{
		"template": dump(merge(current, template)), "timeout_mins": timeoutMinutes,
		"parameters": obj{"nfv": merge(parameters, nfv)},
	}, nil))
	return v.settled(stack)
}

// resources lists those of a stack and of its nested stacks.
func (v *VIM) resources(stack string) []resource {
	v.s.tb.Helper()
	var out struct {
		Resources []resource `json:"resources"`
	}
	v.s.must(v.call(http.MethodGet, "stacks/"+stack+"/resources?nested_depth=2", nil, &out))
	return out.Resources
}

// deleteServer deletes a server in Nova, so that its stack does not know of it.
func (v *VIM) deleteServer(id string) {
	v.s.tb.Helper()
	url := v.nova.ServiceURL("servers", id)
	res, err := v.nova.Delete(v.s.tb.Context(), url, nil)
	v.s.must(err)
	_ = res.Body.Close()
	end := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		res, err := v.nova.Get(v.s.tb.Context(), url, nil, nil)
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return
		}
		v.s.must(err)
		_ = res.Body.Close()
		select {
		case <-tick.C:
		case <-end:
			v.s.tb.Fatal(fmt.Errorf("server %s is still there after %s", id, patience))
		}
	}
}
