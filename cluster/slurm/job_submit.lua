-- Of pinion-slurm: every job waits, held, until Kubernetes has given it its cores.
-- Lies beside slurm.conf, which has JobSubmitPlugins=lua.

local ACCESS_DENIED = 2002   -- ESLURM_ACCESS_DENIED
local RELEASED = 4294967295  -- INFINITE: the priority that a release asks for
-- As whom pinion-slurm runs: root, or Debian's slurm. Where SlurmUser is another, write its number in place of 64030.
local MAY_PLACE = {[0] = true, [64030] = true}

local function is_list(nodes)
  return nodes ~= nil and nodes ~= ""
end

local function is_expand(job_desc)
  return string.find(string.lower(job_desc.dependency or ""), "expand", 1, true) ~= nil
end

-- A job of pinion-slurm's own, which gives its node to the job with this number.
local function grown_by_us(job_desc, submit_uid)
  return MAY_PLACE[submit_uid] and string.match(job_desc.dependency or "", "^expand:(%d+)$")
end

-- What is settled at the submission, as placeholders are made for it: how many cores and how much memory on how many nodes,
-- and when. Each with the number that says "not set" in a field of its width; a wider field may have that number in earnest.
-- `nice` is here because Slurm computes a new priority where it changes, even of a held job, which would start then.
local NO_VAL, NO_VAL16 = 4294967294, 65534
local NO_VAL64 = 2 ^ 64  -- less two, which a floating-point number cannot tell
local SETTLED = {
  priority = NO_VAL, nice = NO_VAL,
  min_nodes = NO_VAL, max_nodes = NO_VAL, num_tasks = NO_VAL, min_cpus = NO_VAL, max_cpus = NO_VAL,
  pn_min_cpus = NO_VAL16, cpus_per_task = NO_VAL16, ntasks_per_node = NO_VAL16, ntasks_per_socket = NO_VAL16,
  ntasks_per_tres = NO_VAL16, sockets_per_node = NO_VAL16, cores_per_socket = NO_VAL16, threads_per_core = NO_VAL16,
  pn_min_memory = NO_VAL64,  -- also memory for each CPU
}
local SETTLED_TEXTS = {"req_nodes", "tres_per_task", "cpus_per_tres", "mem_per_tres"}

-- The first of these that a user wants to change.
local function refused(job_desc)
  for field, not_set in pairs(SETTLED) do
    local value = job_desc[field]
    if value ~= nil and value ~= not_set then
      return field
    end
  end
  for _, field in ipairs(SETTLED_TEXTS) do
    if job_desc[field] ~= nil then  -- "" takes away what is set
      return field
    end
  end
  return is_expand(job_desc) and "dependency"
end

function slurm_job_submit(job_desc, part_list, submit_uid)
  local grown = grown_by_us(job_desc, submit_uid)
  if grown then
    job_desc.admin_comment = "pinion-grows=" .. grown
    return slurm.SUCCESS
  end
  if is_list(job_desc.req_nodes) then
    slurm.log_user("--nodelist: Kubernetes chooses the nodes; --exclude may be used")
    return slurm.ERROR
  end
  if is_expand(job_desc) then
    slurm.log_user("--dependency=expand: a job keeps the nodes that Kubernetes has given it")
    return slurm.ERROR
  end
  if job_desc.priority == 0 then
    job_desc.admin_comment = "pinion=user-held"
  else
    job_desc.admin_comment = "pinion=wait"
  end
  job_desc.priority = 0
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  if MAY_PLACE[modify_uid] or string.sub(job_rec.admin_comment or "", 1, 7) ~= "pinion=" then
    return slurm.SUCCESS
  end
  local released = job_desc.priority == RELEASED and job_rec.admin_comment == "pinion=user-held"
  if released then
    job_desc.priority = NO_VAL
  end
  local field = refused(job_desc)
  if field then
    slurm.log_info("pinion: user %u may not set %s of a job", modify_uid, field)
    return ACCESS_DENIED
  end
  if released then
    -- It stays held, and pinion-slurm reads that it may go on.
    job_desc.priority = 0
    local comment = job_rec.comment or ""
    if not string.find(comment, "released-by-user", 1, true) then
      job_desc.comment = string.gsub(comment .. " released-by-user", "^ ", "")
    end
  end
  return slurm.SUCCESS
end

return slurm.SUCCESS
