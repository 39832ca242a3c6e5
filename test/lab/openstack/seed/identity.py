"""What Keystone must hold before the services start: their users, the catalog, the users' projects, and Heat's domain."""
import os

from cloud import connect

PASSWORD = os.environ['LAB_PASSWORD']
PROJECTS = ('nfv', 'nfv2')  # each has a user PROJECT_user
USER_ROLES = ('admin', 'member', 'heat_stack_owner')
CATALOG = (  # type, name, port, path
    ('image', 'glance', 'GLANCE', ''),
    ('placement', 'placement', 'PLACEMENT', ''),
    ('compute', 'nova', 'NOVA', '/v2.1'),
    ('network', 'neutron', 'NEUTRON', ''),
    ('volumev3', 'cinder', 'CINDER', '/v3/%(project_id)s'),
    ('orchestration', 'heat', 'HEAT', '/v1/%(project_id)s'),
    # No server listens there, but Heat puts its address into the user data of servers.
    ('cloudformation', 'heat-cfn', 'HEAT_CFN', '/v1'),
)

identity = connect('admin', 'admin').identity
roles = {r.name: r for r in identity.roles()}
projects = {p.name: p for p in identity.projects()}
users = {u.name: u for u in identity.users(domain_id='default')}


def project(name):
    if name not in projects:
        projects[name] = identity.create_project(name=name, domain_id='default')
    return projects[name]


def user(name, at, names):
    if name not in users:
        users[name] = identity.create_user(name=name, password=PASSWORD, domain_id='default', default_project_id=at.id)
    for role in names:
        identity.assign_project_role_to_user(at, users[name], roles[role])


for name in ('service', 'heat_stack_owner', 'heat_stack_user'):
    if name not in roles:
        roles[name] = identity.create_role(name=name)
for name in ('glance', 'placement', 'nova', 'neutron', 'cinder', 'heat'):
    user(name, project('service'), ('admin', 'service'))
for name in PROJECTS:
    user(name + '_user', project(name), USER_ROLES)
    identity.assign_project_role_to_user(projects[name], users['admin'], roles['admin'])

known = {s.type for s in identity.services()}
for kind, name, port, path in CATALOG:
    if kind in known:
        continue
    service = identity.create_service(type=kind, name=name)
    url = f"http://{os.environ['LAB_ADDR']}:{os.environ['LAB_PORT_' + port]}{path}"
    for interface in ('public', 'internal', 'admin'):
        identity.create_endpoint(service_id=service.id, interface=interface, url=url, region_id='RegionOne')

# Heat keeps the users that it makes for stacks in a domain of their own.
heat = next((d for d in identity.domains() if d.name == 'heat'), None) or identity.create_domain(name='heat')
if not any(u.name == 'heat_domain_admin' for u in identity.users(domain_id=heat.id)):
    keeper = identity.create_user(name='heat_domain_admin', password=PASSWORD, domain_id=heat.id)
    identity.assign_domain_role_to_user(heat, keeper, roles['admin'])
